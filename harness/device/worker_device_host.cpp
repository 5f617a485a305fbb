#include "device/worker_device_host.h"

#include <sys/mman.h>
#include <unistd.h>

#include "core/error.h"

namespace assay {
namespace {

constexpr uint64_t kRange = uint64_t{1} << 40;  // reserved addresses, no memory behind them
constexpr uint64_t kHole = uint64_t{1} << 20;   // between regions: more than any plausible stride beyond the end

}  // namespace

HostWorkerDevice::HostWorkerDevice() {
  void* range = ::mmap(nullptr, kRange, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (range == MAP_FAILED) throw_system_error("mmap of the address range", __FILE__, __LINE__);
  range_ = static_cast<std::byte*>(range);
}

HostWorkerDevice::~HostWorkerDevice() {
  for (const auto& [id, file] : files_) ::close(file);
  ::munmap(range_, kRange);
}

ReservedRange HostWorkerDevice::reserved() const {
  const auto begin = reinterpret_cast<uint64_t>(range_);
  return {begin, begin + kRange};
}

void HostWorkerDevice::take(const Block& block) {
  forget(block.id);
  files_[block.id] = block.file;
}

void HostWorkerDevice::forget(uint64_t block) {
  const auto found = files_.find(block);
  if (found == files_.end()) return;
  unmap();
  ::close(found->second);
  files_.erase(found);
}

void HostWorkerDevice::unmap() {
  if (cursor_ == mapped_from_) return;
  void* hole = ::mmap(range_ + mapped_from_, cursor_ - mapped_from_, PROT_NONE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  if (hole == MAP_FAILED) throw_system_error("unmapping the last layout", __FILE__, __LINE__);
  mapped_from_ = cursor_;
}

std::vector<void*> HostWorkerDevice::map(const std::vector<Region>& regions, Addresses) {
  unmap();
  uint64_t needed = kHole;
  for (const Region& region : regions) needed += region.length + kHole;
  if (needed > kRange) throw Error("a layout of " + std::to_string(needed) + " bytes exceeds the address range");
  if (cursor_ + needed > kRange) cursor_ = 0;
  mapped_from_ = cursor_;
  std::vector<void*> bases;
  for (const Region& region : regions) {
    const auto file = files_.find(region.block);
    if (file == files_.end()) throw Error("a region lies in block " + std::to_string(region.block) + ", never given");
    cursor_ += kHole;
    void* at = ::mmap(range_ + cursor_, region.length, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file->second,
                      static_cast<off_t>(region.block_offset));
    if (at == MAP_FAILED) throw_system_error("mmap of a region", __FILE__, __LINE__);
    bases.push_back(static_cast<std::byte*>(at) + region.base);
    cursor_ += region.length;
  }
  if (!regions.empty() && regions.back().bytes == 0) bases.back() = nullptr;
  cursor_ += kHole;
  return bases;
}

}  // namespace assay
