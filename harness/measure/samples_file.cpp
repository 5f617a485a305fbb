#include "measure/samples_file.h"

#include <xxhash.h>

#include <bit>
#include <cstring>
#include <fstream>
#include <iterator>

#include "core/error.h"
#include "record/json_text.h"
#include "record/run_folder.h"

namespace assay {
namespace {

static_assert(std::endian::native == std::endian::little, "write_samples() copies numbers as they lie in memory");

constexpr std::string_view kMagic = "ASSAYSMP";
constexpr uint32_t kVersion = 1, kWithClocks = 2;
constexpr uint32_t kLongestLabel = 65536;

struct Header {
  char magic[8];
  uint32_t version;
  uint32_t label_bytes;
  uint64_t count;
  uint64_t batch;
};
static_assert(sizeof(Header) == 32);

}  // namespace

std::string samples_file_name(std::string_view kernel_id, std::string_view metric) {
  const std::string key = std::string(kernel_id) + '\0' + std::string(metric);
  const XXH128_hash_t hash = XXH3_128bits(key.data(), key.size());
  char name[64];
  std::snprintf(name, sizeof name, "samples/%016llx%016llx.bin", static_cast<unsigned long long>(hash.high64),
                static_cast<unsigned long long>(hash.low64));
  return name;
}

void write_samples(const std::filesystem::path& file, std::string_view kernel_id, std::string_view metric,
                   const SampleSet& samples) {
  std::string label = valid_utf8(std::string(kernel_id) + " " + std::string(metric));
  if (label.size() > kLongestLabel) throw Error("label of " + file.string() + " is too long");
  Header header{};
  std::memcpy(header.magic, kMagic.data(), kMagic.size());
  const bool has_clocks = !samples.sm_mhz.empty() && samples.sm_mhz.size() == samples.nanoseconds.size();
  header.version = has_clocks ? kWithClocks : kVersion;
  header.label_bytes = static_cast<uint32_t>(label.size());
  header.count = samples.nanoseconds.size();
  header.batch = static_cast<uint64_t>(samples.batch);
  std::string content(reinterpret_cast<const char*>(&header), sizeof header);
  content += label;
  content.append(reinterpret_cast<const char*>(samples.nanoseconds.data()), samples.nanoseconds.size() * 8);
  if (has_clocks) content.append(reinterpret_cast<const char*>(samples.sm_mhz.data()), samples.sm_mhz.size() * 8);
  write_file_atomically(file, content);
}

SamplesFile read_samples(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) throw UsageError(file.string() + ": cannot be read");
  return parse_samples(std::string{std::istreambuf_iterator<char>(in), {}}, file.string());
}

SamplesFile parse_samples(std::string_view content, const std::string& file) {
  const auto refuse = [&](const std::string& problem) -> void { throw UsageError(file + ": " + problem); };
  Header header{};
  if (content.size() < sizeof header) refuse("too short for a samples file");
  std::memcpy(&header, content.data(), sizeof header);
  if (std::string_view(header.magic, sizeof header.magic) != kMagic) refuse("not a samples file");
  if (header.version != kVersion && header.version != kWithClocks) {
    refuse("version " + std::to_string(header.version) + " of a samples file; this program reads 1 and 2");
  }
  const size_t bytes_each = header.version == kWithClocks ? 16 : 8;
  if (header.label_bytes > kLongestLabel) refuse("label length out of range");
  if (header.batch < 1 || header.batch > uint64_t{1} << 40) refuse("batch out of range");
  const size_t rest = content.size() - sizeof header;
  // In this order nothing overflows: the count is compared with a quotient.
  if (rest < header.label_bytes || (rest - header.label_bytes) % bytes_each != 0 ||
      header.count != (rest - header.label_bytes) / bytes_each) {
    refuse("length does not match its count of samples (cut off?)");
  }
  SamplesFile samples{.label = std::string(content.substr(sizeof header, header.label_bytes)),
                      .batch = static_cast<int64_t>(header.batch),
                      .nanoseconds = std::vector<int64_t>(header.count),
                      .sm_mhz = std::vector<double>(header.version == kWithClocks ? header.count : 0)};
  const char* next = content.data() + sizeof header + header.label_bytes;
  const auto take = [&next](auto& numbers) {
    if (numbers.empty()) return;  // it may have no memory, not even to copy nothing to
    std::memcpy(numbers.data(), next, numbers.size() * sizeof numbers[0]);
    next += numbers.size() * sizeof numbers[0];
  };
  take(samples.nanoseconds);
  take(samples.sm_mhz);
  for (const int64_t ns : samples.nanoseconds) {
    if (ns < 0) refuse("a negative duration");
  }
  for (const double mhz : samples.sm_mhz) {
    if (!(mhz >= 0 && mhz < 1e6)) refuse("a clock that is none");
  }
  return samples;
}

}  // namespace assay
