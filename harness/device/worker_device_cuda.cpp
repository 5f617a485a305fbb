#include "device/worker_device_cuda.h"

#include <unistd.h>

#include <algorithm>
#include <map>

#include "core/error.h"
#include "device/driver_cuda.h"
#include "device/graph_cuda.h"
#include "device/load_cuda.cuh"

namespace assay {
namespace {

using cuda::driver;
using cuda::require;

constexpr uint64_t kRange = uint64_t{1} << 40;  // reserved addresses, no memory behind them
constexpr uint64_t kHole = uint64_t{4} << 20;   // between regions, whole pages of any size a GPU has here

// Errors after which the context answers nothing but that error (CUDA driver API, CUresult).
bool is_access(CUresult result) {
  return result == CUDA_ERROR_ILLEGAL_ADDRESS || result == CUDA_ERROR_INVALID_ADDRESS_SPACE;
}
bool is_sticky(CUresult result) {
  switch (result) {
    case CUDA_ERROR_ILLEGAL_ADDRESS:
    case CUDA_ERROR_INVALID_ADDRESS_SPACE:
    case CUDA_ERROR_MISALIGNED_ADDRESS:
    case CUDA_ERROR_ILLEGAL_INSTRUCTION:
    case CUDA_ERROR_INVALID_PC:
    case CUDA_ERROR_HARDWARE_STACK_ERROR:
    case CUDA_ERROR_ASSERT:
    case CUDA_ERROR_LAUNCH_FAILED:
    case CUDA_ERROR_LAUNCH_TIMEOUT:
    case CUDA_ERROR_ECC_UNCORRECTABLE:
    case CUDA_ERROR_UNKNOWN:
      return true;
    default:
      return false;
  }
}

struct Imported {
  CUmemGenericAllocationHandle handle;
  uint64_t bytes;
};

class CudaWorkerDevice : public WorkerDevice {
 public:
  assay_device id() const override { return {2, cuda::kOrdinal}; }

  void take(const Block& block) override {
    start();
    forget(block.id);
    Imported imported{0, block.bytes};
    // The file descriptor travels in the pointer itself (CUDA driver API, cuMemImportFromShareableHandle).
    auto* const file = reinterpret_cast<void*>(static_cast<intptr_t>(block.file));
    const CUresult result = driver().import_handle(&imported.handle, file, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
    ::close(block.file);
    require(result, "cuMemImportFromShareableHandle");
    blocks_[block.id] = imported;
  }

  void forget(uint64_t block) override {
    const auto found = blocks_.find(block);
    if (found == blocks_.end()) return;
    unmap();
    driver().release(found->second.handle);
    blocks_.erase(found);
  }

  std::vector<void*> map(const std::vector<Region>& regions, Addresses addresses) override {
    start();
    if (addresses == Addresses::fresh || !all_mapped_ || !lie_where_last(regions)) map_anew(regions);
    std::vector<void*> bases;
    for (size_t i = 0; i < regions.size(); ++i)
      bases.push_back(reinterpret_cast<void*>(mapped_[i].at + regions[i].base));
    if (!regions.empty() && regions.back().bytes == 0) bases.back() = nullptr;
    return bases;
  }
  // A fault on a GPU ends no process.
  ReservedRange reserved() const override { return {}; }

  void* stream() override {
    start();
    return stream_;
  }

  void* other_stream() override {
    start();
    return other_stream_;
  }

  Captured capture_and_replay(const std::function<const char*()>& launch) override {
    start();
    return cuda::capture_and_replay(stream_, launch);
  }

  void hold() override {
    start();
    *may_go_ = 0;
    CUdeviceptr flag = 0;
    require(driver().host_address(&flag, const_cast<unsigned*>(may_go_), 0), "cuMemHostGetDevicePointer");
    require(driver().stream_wait_value(stream_, flag, 1, CU_STREAM_WAIT_VALUE_EQ), "cuStreamWaitValue32");
  }

  void release() override { *may_go_ = 1; }

  void let_strays_finish() override {
    constexpr int kMostMilliseconds = 50;
    for (const CUstream stream : {CU_STREAM_LEGACY, CU_STREAM_PER_THREAD, other_stream_}) {
      for (int i = 0; i < kMostMilliseconds && driver().stream_query(stream) == CUDA_ERROR_NOT_READY; ++i)
        ::usleep(1000);
    }
    ::usleep(2000);  // streams that only the kernel knows
  }

  void queue_load() override {
    start();
    if (load_memory_ == nullptr) require(cudaMalloc(&load_memory_, cuda::kLoadBytes), "cudaMalloc for other work");
    require(cuda::queue_load(static_cast<float4*>(load_memory_), other_stream_), "queuing other work");
  }

  // Everything of the context, so that work which strayed to another stream cannot reach into what follows.
  void wait() override {
    start();
    cuda::wait_for_context();
  }

  int64_t memory_in_use() override {
    start();
    size_t free = 0, total = 0;
    require(driver().memory_info(&free, &total), "cuMemGetInfo");
    return static_cast<int64_t>(total - free);
  }

 private:
  struct Mapped {
    CUdeviceptr at;
    uint64_t bytes;
    uint64_t block;
  };

  void start() {
    if (stream_ != nullptr) return;
    require(driver().init(0), "cuInit");
    CUcontext context = nullptr;  // the one the CUDA runtime of a module uses
    require(driver().primary_context(&context, cuda::kOrdinal), "cuDevicePrimaryCtxRetain");
    require(driver().set_current(context), "cuCtxSetCurrent");
    require(driver().reserve(&range_, kRange, 0, 0, 0), "cuMemAddressReserve");
    // Not ordered with the default stream: work that is launched there by mistake must not look as if it were.
    require(driver().stream_create(&stream_, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
    require(driver().stream_create(&other_stream_, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
    void* flag = nullptr;
    require(driver().host_alloc(&flag, sizeof(unsigned), CU_MEMHOSTALLOC_DEVICEMAP), "cuMemHostAlloc");
    may_go_ = static_cast<volatile unsigned*>(flag);
  }

  bool lie_where_last(const std::vector<Region>& regions) const {
    return std::ranges::equal(regions, mapped_, [](const Region& region, const Mapped& m) {
      return region.block == m.block && region.length == m.bytes;
    });
  }

  void map_anew(const std::vector<Region>& regions) {
    unmap();
    uint64_t needed = kHole;
    for (const Region& region : regions) needed += region.length + kHole;
    if (needed > kRange) throw Error("a layout of " + std::to_string(needed) + " bytes exceeds the address range");
    if (cursor_ + needed > kRange) cursor_ = 0;
    for (const Region& region : regions) {
      const auto block = blocks_.find(region.block);
      if (block == blocks_.end() || block->second.bytes != region.length) {
        throw Error("a region lies in block " + std::to_string(region.block) + ", never given in that size");
      }
      cursor_ += kHole;
      const CUdeviceptr at = range_ + cursor_;
      require(driver().map(at, region.length, 0, block->second.handle, 0), "cuMemMap of a region");
      mapped_.push_back({at, region.length, region.block});
      cuda::give_access(at, region.length);
      cursor_ += region.length;
    }
    cursor_ += kHole;
    all_mapped_ = true;
  }

  void unmap() {
    all_mapped_ = false;
    for (const Mapped& m : mapped_) require(driver().unmap(m.at, m.bytes), "cuMemUnmap");
    mapped_.clear();
  }

  std::map<uint64_t, Imported> blocks_;  // by id
  std::vector<Mapped> mapped_;
  bool all_mapped_ = false;  // each of them, and may be used
  CUdeviceptr range_ = 0;
  uint64_t cursor_ = 0;
  CUstream stream_ = nullptr;
  CUstream other_stream_ = nullptr;
  volatile unsigned* may_go_ = nullptr;  // in memory that the GPU sees too
  void* load_memory_ = nullptr;
};

}  // namespace

void cuda::wait_for_context() {
  const CUresult result = driver().synchronize();
  if (is_sticky(result)) throw DeviceLost(cuda::describe(result), is_access(result));
  require(result, "cuCtxSynchronize");
}

std::unique_ptr<WorkerDevice> make_cuda_worker_device() { return std::make_unique<CudaWorkerDevice>(); }

}  // namespace assay
