#include "measure/transfer_cuda.h"

#include <cuda_runtime_api.h>

#include <memory>
#include <utility>

#include "core/error.h"
#include "device/driver_cuda.h"

namespace assay {
namespace {

using cuda::require;

struct Unlock {
  void operator()(std::byte* memory) const { (void)cudaFreeHost(memory); }
};
struct GiveBack {
  void operator()(void* memory) const { (void)cudaFree(memory); }
};

std::unique_ptr<std::byte, Unlock> page_locked(size_t bytes) {
  void* memory = nullptr;
  require(cudaHostAlloc(&memory, bytes, cudaHostAllocDefault), "cudaHostAlloc for timing transfers");
  return std::unique_ptr<std::byte, Unlock>(static_cast<std::byte*>(memory));
}

void copy(const std::vector<AddressRange>& buffers, std::byte* host, Direction direction) {
  for (const AddressRange& buffer : buffers) {
    auto* device = const_cast<void*>(buffer.begin);
    if (direction == Direction::to_device) {
      require(cudaMemcpyAsync(device, host, buffer.bytes, cudaMemcpyHostToDevice, cudaStreamPerThread), "copying in");
    } else {
      require(cudaMemcpyAsync(host, device, buffer.bytes, cudaMemcpyDeviceToHost, cudaStreamPerThread), "copying out");
    }
    host += buffer.bytes;
  }
  require(cudaStreamSynchronize(cudaStreamPerThread), "copying");
}

}  // namespace

SampleSet sample_allocation(const SamplerOptions& options, size_t bytes) {
  require(cudaDeviceSynchronize(), "before timing allocations");
  std::unique_ptr<void, GiveBack> taken;
  const auto take = [&] {
    void* memory = nullptr;
    require(cudaMalloc(&memory, bytes), "cudaMalloc of a workspace");
    taken.reset(memory);
  };
  return sample(options, take, [&] { taken.reset(); });
}

SampleSet sample_copies(const SamplerOptions& options, const std::vector<AddressRange>& buffers, Direction direction) {
  size_t bytes = 0;
  for (const AddressRange& buffer : buffers) bytes += buffer.bytes;
  const auto host = page_locked(bytes);
  copy(buffers, host.get(), Direction::from_device);
  return sample(options, [&] { copy(buffers, host.get(), direction); });
}

std::function<void()> keep_on_device(std::vector<AddressRange> buffers, void* stream) {
  size_t bytes = 0;
  for (const AddressRange& buffer : buffers) bytes += buffer.bytes;
  void* memory = nullptr;
  if (bytes > 0) require(cudaMalloc(&memory, bytes), "cudaMalloc for what outputs hold before they are timed");
  const std::shared_ptr<void> kept(memory, GiveBack());
  const auto move = [kept, buffers = std::move(buffers), stream](bool back) {
    auto* at = static_cast<std::byte*>(kept.get());
    for (const AddressRange& buffer : buffers) {
      auto* const there = const_cast<void*>(buffer.begin);
      require(cudaMemcpyAsync(back ? there : at, back ? at : there, buffer.bytes, cudaMemcpyDeviceToDevice,
                              static_cast<cudaStream_t>(stream)),
              "keeping what outputs hold");
      at += buffer.bytes;
    }
  };
  move(false);
  return [move] { move(true); };
}

}  // namespace assay
