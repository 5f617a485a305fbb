// A judge's memory on the CPU: one sealed memfd that a worker maps piecewise. It can be neither shrunk under the judge
// nor grown.
#pragma once

#include "device/memory.h"

namespace assay {

class HostMemory : public Memory {
 public:
  HostMemory() = default;
  ~HostMemory() override;
  HostMemory(const HostMemory&) = delete;
  HostMemory& operator=(const HostMemory&) = delete;

  Device device() const override { return Device::cpu; }
  uint64_t granularity() const override { return page_size(); }
  void place(std::vector<Region>& regions) override;
  uint64_t host_bytes() const override;
  std::vector<Block> blocks() const override;
  void keep(int number, const Region& region, std::span<const std::byte> bytes) override;
  void set(std::span<const Stretch> stretches) override;
  std::vector<Mismatch> compare(std::span<const Stretch> stretches) override;
  void read(const Region& region, uint64_t begin, std::span<std::byte> to) override;

  std::byte* at(const Region& region) { return data_ + region.block_offset; }

 private:
  void reserve(uint64_t bytes);
  void close();
  const std::byte* kept(const Stretch& stretch) const;
  int file_ = -1;
  uint64_t id_ = 0;
  uint64_t size_ = 0;
  std::byte* data_ = nullptr;
  std::vector<std::span<const std::byte>> kept_;
};

}  // namespace assay
