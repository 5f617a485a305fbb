#include "device/aligned_allocation.h"
#include "device/driver_cuda.h"
#include "device/worker_device_cuda.h"
#include "device/worker_device_host.h"

namespace assay {
namespace {

using cuda::require;

// The judge's memory is the host's. Each buffer has an allocation of its own that ends with it, so that a sanitizer
// sees a step beyond it; and what no kernel may read is never set, so that it sees that too.
class PrivateCudaWorkerDevice : public WorkerDevice {
 public:
  ~PrivateCudaWorkerDevice() override { give_back(); }

  assay_device id() const override { return {2, cuda::kOrdinal}; }
  void take(const Block& block) override { host_.take(block); }
  void forget(uint64_t block) override {
    buffers_.clear();  // they copy from it
    host_.forget(block);
  }

  std::vector<void*> map(const std::vector<Region>& regions, Addresses) override {
    start();
    give_back();
    const std::vector<void*> hosts = host_.map(regions);
    std::vector<void*> bases;
    for (size_t i = 0; i < regions.size(); ++i) {
      const Region& region = regions[i];
      if (hosts[i] == nullptr) {
        bases.push_back(nullptr);
        continue;
      }
      const uint64_t before = region.first - region.base;
      const AlignedAllocation own = allocate_aligned(before, region.bytes, region.alignment, allocate, cudaFree);
      allocated_.push_back(own.allocated);
      bases.push_back(own.base);
      if (!region.filled || region.bytes == 0) continue;
      buffers_.push_back({own.base + before, static_cast<std::byte*>(hosts[i]) + before, region.bytes});
    }
    return bases;
  }

  void bring_in() override {
    for (const Buffer& b : buffers_) {
      require(cudaMemcpyAsync(b.device, b.host, b.bytes, cudaMemcpyHostToDevice, stream_), "copying inputs in");
    }
    require(cudaStreamSynchronize(stream_), "copying inputs in");
  }

  ReservedRange reserved() const override { return {}; }
  void* stream() override {
    start();
    return stream_;
  }
  void wait() override { cuda::wait_for_context(); }
  int64_t memory_in_use() override { return 0; }

 private:
  struct Buffer {
    std::byte* device;
    const std::byte* host;
    uint64_t bytes;
  };

  void start() {
    if (stream_ != nullptr) return;
    require(cudaSetDevice(cuda::kOrdinal), "cudaSetDevice");
    require(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreate");
  }

  static void* allocate(uint64_t bytes) {
    void* memory = nullptr;
    require(cudaMalloc(&memory, bytes), "cudaMalloc of a buffer");
    return memory;
  }

  void give_back() {
    buffers_.clear();
    for (void* memory : allocated_) (void)cudaFree(memory);
    allocated_.clear();
  }

  HostWorkerDevice host_;
  std::vector<void*> allocated_;
  std::vector<Buffer> buffers_;  // that have content
  cudaStream_t stream_ = nullptr;
};

}  // namespace

std::unique_ptr<WorkerDevice> make_private_cuda_worker_device() { return std::make_unique<PrivateCudaWorkerDevice>(); }

}  // namespace assay
