#include "device/memory_host.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "core/error.h"

namespace assay {
namespace {

void set_period(std::byte* region, const Stretch& s) {
  uint64_t at = s.begin;
  for (; at < s.end && at % 8 != 0; ++at) region[at] = s.period[at % 8];
  for (; at + 8 <= s.end; at += 8) std::memcpy(region + at, s.period.data(), 8);
  for (; at < s.end; ++at) region[at] = s.period[at % 8];
}

bool holds_period(const std::byte* region, const Stretch& s) {
  const uint64_t head = std::min(s.begin + 8, s.end);
  for (uint64_t at = s.begin; at < head; ++at) {
    if (region[at] != s.period[at % 8]) return false;
  }
  // What starts with one period and equals itself shifted by one is periodic throughout.
  return s.end <= head || std::memcmp(region + s.begin, region + s.begin + 8, s.end - head) == 0;
}

template <class Wanted>
Mismatch mismatch(const std::byte* region, const Stretch& s, const Wanted& wanted) {
  Mismatch found;
  for (uint64_t at = s.begin; at < s.end; ++at) {
    if (region[at] == wanted(at)) continue;
    if (found.count++ == 0) found.first = at;
    found.last = at;
  }
  return found;
}

}  // namespace

HostMemory::~HostMemory() { close(); }

void HostMemory::close() {
  if (data_ != nullptr) ::munmap(data_, size_);
  if (file_ >= 0) ::close(file_);
  data_ = nullptr;
  file_ = -1;
  size_ = 0;
}

void HostMemory::place(std::vector<Region>& regions) {
  uint64_t total = 0;
  for (const Region& region : regions) total += region.length;
  reserve(total);
  uint64_t at = 0;
  for (Region& region : regions) {
    region.block = id_;
    region.block_offset = at;
    at += region.length;
  }
  kept_.clear();
}

void HostMemory::reserve(uint64_t bytes) {
  if (file_ >= 0 && bytes <= size_) return;
  constexpr uint64_t kGrain = uint64_t{1} << 20;
  const uint64_t size = std::max<uint64_t>((bytes + bytes / 4 + kGrain - 1) / kGrain * kGrain, 16 * kGrain);
  close();
  const auto refuse = [bytes] {
    throw Error("the case needs " + std::to_string(bytes) +
                " bytes of memory, more than this machine gives: " + std::strerror(errno));
  };
  constexpr auto kLargest = static_cast<uint64_t>(std::numeric_limits<off_t>::max());
  if (size < bytes || size > kLargest) {
    errno = EFBIG;
    refuse();
  }
  file_ = ASSAY_SYSTEM(::memfd_create("assay-arena", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (::ftruncate(file_, static_cast<off_t>(size)) != 0) refuse();
  ASSAY_SYSTEM(::fcntl(file_, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL));
  void* mapped = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0);
  if (mapped == MAP_FAILED) refuse();
  data_ = static_cast<std::byte*>(mapped);
  size_ = size;
  ++id_;
}

uint64_t HostMemory::host_bytes() const {
  constexpr uint64_t kBlock = 512;  // of st_blocks, whatever st_blksize says
  struct stat facts {};
  return file_ >= 0 && ::fstat(file_, &facts) == 0 ? static_cast<uint64_t>(facts.st_blocks) * kBlock : 0;
}

std::vector<Block> HostMemory::blocks() const {
  return file_ < 0 ? std::vector<Block>{} : std::vector<Block>{{id_, size_, file_}};
}

void HostMemory::keep(int number, const Region&, std::span<const std::byte> bytes) {
  const auto index = static_cast<size_t>(number);
  if (kept_.size() <= index) kept_.resize(index + 1);
  kept_[index] = bytes;
}

const std::byte* HostMemory::kept(const Stretch& s) const {
  const std::span<const std::byte> bytes = kept_.at(static_cast<size_t>(s.kept));
  if (s.begin < s.region->first || s.end - s.region->first > bytes.size()) {
    throw Error("a stretch reaches beyond what was kept for it");
  }
  return bytes.data() + (s.begin - s.region->first);
}

void HostMemory::set(std::span<const Stretch> stretches) {
  for (const Stretch& s : stretches) {
    if (s.kept == Stretch::kPeriodic) {
      set_period(at(*s.region), s);
    } else if (s.begin < s.end) {
      std::memcpy(at(*s.region) + s.begin, kept(s), s.end - s.begin);
    }
  }
}

std::vector<Mismatch> HostMemory::compare(std::span<const Stretch> stretches) {
  std::vector<Mismatch> found;
  for (const Stretch& s : stretches) {
    const std::byte* region = at(*s.region);
    Mismatch& m = found.emplace_back();
    if (s.begin >= s.end) continue;
    if (s.kept == Stretch::kPeriodic) {
      if (!holds_period(region, s)) m = mismatch(region, s, [&s](uint64_t at) { return s.period[at % 8]; });
    } else {
      const std::byte* wanted = kept(s);
      if (std::memcmp(region + s.begin, wanted, s.end - s.begin) != 0) {
        m = mismatch(region, s, [&](uint64_t at) { return wanted[at - s.begin]; });
      }
    }
  }
  return found;
}

void HostMemory::read(const Region& region, uint64_t begin, std::span<std::byte> to) {
  if (!to.empty()) std::memcpy(to.data(), at(region) + begin, to.size());
}

}  // namespace assay
