#include "worker/oracle_cache.h"

#include <unistd.h>
#include <xxhash.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <span>

namespace assay {
namespace {

constexpr uint64_t kLargestFile = uint64_t{64} << 20;  // larger ones are cheaper to compute than to store
constexpr char kMagic[8] = {'a', 's', 's', 'a', 'y', 'o', 'r', '1'};

uint64_t bytes_of(const std::vector<Reference>& references) {
  uint64_t bytes = 0;
  for (const Reference& r : references) bytes += r.size() * 8 * (3 + r.conditions.size()) + 128;
  return bytes;
}

// Appends and reads plain values and arrays of doubles.
struct Writer {
  std::string out;
  template <class T>
  void value(const T& v) {
    out.append(reinterpret_cast<const char*>(&v), sizeof v);
  }
  void doubles(const std::vector<double>& v) {
    value<uint64_t>(v.size());
    out.append(reinterpret_cast<const char*>(v.data()), v.size() * sizeof(double));
  }
  void text(const std::string& v) {
    value<uint64_t>(v.size());
    out += v;
  }
};

struct Reader {
  std::string_view in;
  bool ok = true;
  template <class T>
  T value() {
    T v{};
    if (in.size() < sizeof v) {
      ok = false;
      return v;
    }
    std::memcpy(&v, in.data(), sizeof v);
    in.remove_prefix(sizeof v);
    return v;
  }
  std::string_view bytes(uint64_t size) {
    if (!ok || in.size() < size) {
      ok = false;
      return {};
    }
    const std::string_view taken = in.substr(0, size);
    in.remove_prefix(size);
    return taken;
  }
  std::vector<double> doubles() {
    const auto count = value<uint64_t>();
    const std::string_view raw =
        count > in.size() / sizeof(double) ? bytes(in.size() + 1) : bytes(count * sizeof(double));
    std::vector<double> v(raw.size() / sizeof(double));
    if (!v.empty()) std::memcpy(v.data(), raw.data(), raw.size());
    return v;
  }
};

std::string pack(const std::string& key, const std::vector<Reference>& references) {
  Writer w;
  w.text(key);
  w.value<uint64_t>(references.size());
  for (const Reference& r : references) {
    w.text(r.tensor);
    w.value(r.dtype);
    w.value(r.bitwise);
    w.doubles(r.hi);
    w.doubles(r.lo);
    w.doubles(r.e_ref);
    w.value<uint64_t>(r.conditions.size());
    for (const auto& condition : r.conditions) w.doubles(condition);
  }
  return std::move(w.out);
}

References unpack(const std::string& key, std::string_view bytes) {
  Reader reader{bytes};
  if (reader.bytes(reader.value<uint64_t>()) != key) return nullptr;
  auto references = std::make_shared<std::vector<Reference>>();
  for (uint64_t left = reader.value<uint64_t>(); left > 0 && reader.ok; --left) {
    Reference r;
    r.tensor = reader.bytes(reader.value<uint64_t>());
    r.dtype = reader.value<DType>();
    r.bitwise = reader.value<bool>();
    r.hi = reader.doubles();
    r.lo = reader.doubles();
    r.e_ref = reader.doubles();
    for (uint64_t n = reader.value<uint64_t>(); n > 0 && reader.ok; --n) r.conditions.push_back(reader.doubles());
    references->push_back(std::move(r));
  }
  return reader.ok && reader.in.empty() ? references : nullptr;
}

}  // namespace

OracleCache::OracleCache(std::filesystem::path folder, std::string build, uint64_t memory)
    : folder_(std::move(folder)), build_(std::move(build)), memory_(memory) {
  std::error_code failed;
  if (!folder_.empty()) std::filesystem::create_directories(folder_, failed);
  if (failed || build_.empty()) folder_.clear();  // without a build-id a stale file could not be told from a good one
}

std::string OracleCache::key_of(const Op& op, const Case& c, uint64_t seed) const {
  const Case plain = c.with({{"offset", "0"}, {"place", "end"}, {"seed", "1"}, {"seeds", "1"}});
  return plain.id() + "|seed " + std::to_string(seed) + "|oracle " + std::to_string(op.oracle_version()) + "|" + build_;
}

std::filesystem::path OracleCache::file_of(const std::string& key) const {
  char name[24];
  std::snprintf(name, sizeof name, "%016llx.ref", static_cast<unsigned long long>(XXH64(key.data(), key.size(), 0)));
  return folder_ / name;
}

References OracleCache::find(const std::string& key) {
  for (auto entry = recent_.begin(); entry != recent_.end(); ++entry) {
    if (entry->key != key) continue;
    recent_.splice(recent_.begin(), recent_, entry);
    return entry->references;
  }
  if (folder_.empty()) return nullptr;
  std::ifstream in(file_of(key), std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(in), {}};
  constexpr size_t kHead = sizeof kMagic + sizeof(uint64_t);
  if (bytes.size() < kHead || std::memcmp(bytes.data(), kMagic, sizeof kMagic) != 0) return nullptr;
  uint64_t checksum;
  std::memcpy(&checksum, bytes.data() + sizeof kMagic, sizeof checksum);
  if (checksum != XXH64(bytes.data() + kHead, bytes.size() - kHead, 0)) return nullptr;
  References references = unpack(key, std::string_view(bytes).substr(kHead));
  if (references != nullptr) remember(key, references);
  return references;
}

void OracleCache::remember(const std::string& key, const References& references) {
  recent_.push_front({key, references, bytes_of(*references)});
  bytes_ += recent_.front().bytes;
  while (bytes_ > memory_ && recent_.size() > 1) {
    bytes_ -= recent_.back().bytes;
    recent_.pop_back();
  }
}

References OracleCache::keep(const std::string& key, std::vector<Reference> references) {
  const auto kept = std::make_shared<const std::vector<Reference>>(std::move(references));
  remember(key, kept);
  if (folder_.empty() || recent_.front().bytes > kLargestFile) return kept;
  const std::string body = pack(key, *kept);
  const uint64_t checksum = XXH64(body.data(), body.size(), 0);
  const std::filesystem::path file = file_of(key);
  const std::filesystem::path fresh = file.string() + "." + std::to_string(::getpid());
  std::ofstream out(fresh, std::ios::binary);
  out.write(kMagic, sizeof kMagic);
  out.write(reinterpret_cast<const char*>(&checksum), sizeof checksum);
  out.write(body.data(), static_cast<std::streamsize>(body.size()));
  out.close();
  std::error_code ignored;  // a cache that cannot be written is only slower
  if (out) {
    std::filesystem::rename(fresh, file, ignored);
  } else {
    std::filesystem::remove(fresh, ignored);
  }
  return kept;
}

}  // namespace assay
