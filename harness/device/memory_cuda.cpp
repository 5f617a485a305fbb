#include "device/memory_cuda.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "core/error.h"
#include "device/driver_cuda.h"
#include "device/stretches_cuda.cuh"

namespace assay {
namespace {

using cuda::driver;
using cuda::require;

// Blocks that no region needs now are kept for the next case while they are small.
constexpr uint64_t kWorthKeeping = uint64_t{64} << 20;
constexpr size_t kMostSpareBlocks = 64;

// Plain device memory that only grows, never seen by a worker.
class Buffer {
 public:
  Buffer() = default;
  ~Buffer() { clear(); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  std::byte* reserve(uint64_t bytes) {
    if (bytes <= bytes_) return data_;
    clear();
    void* data = nullptr;
    if (const cudaError_t result = cudaMalloc(&data, bytes); result != cudaSuccess) {
      (void)cudaGetLastError();  // it is told by throwing
      require(result, ("cudaMalloc of " + std::to_string(bytes) + " bytes").c_str());
    }
    data_ = static_cast<std::byte*>(data);
    bytes_ = bytes;
    return data_;
  }
  void clear() {
    if (data_ != nullptr) (void)cudaFree(data_);
    data_ = nullptr;
    bytes_ = 0;
  }
  uint64_t bytes() const { return bytes_; }

 private:
  std::byte* data_ = nullptr;
  uint64_t bytes_ = 0;
};

// One exported allocation, mapped here for the judge.
class CudaBlock {
 public:
  CudaBlock(uint64_t id, uint64_t bytes) : info_{id, bytes, -1} {
    const CUmemAllocationProp memory = cuda::exportable_memory();
    require(driver().create(&handle_, bytes, &memory, 0), "cuMemCreate");
    try {
      require(driver().reserve(&at_, bytes, 0, 0, 0), "cuMemAddressReserve");
      require(driver().map(at_, bytes, 0, handle_, 0), "cuMemMap");
      mapped_ = true;
      cuda::give_access(at_, bytes);
      require(driver().export_handle(&info_.file, handle_, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0),
              "cuMemExportToShareableHandle");
    } catch (...) {
      give_back();
      throw;
    }
  }
  ~CudaBlock() { give_back(); }
  CudaBlock(const CudaBlock&) = delete;
  CudaBlock& operator=(const CudaBlock&) = delete;

  const Block& info() const { return info_; }
  std::byte* data() const { return reinterpret_cast<std::byte*>(at_); }

 private:
  void give_back() {
    if (info_.file >= 0) ::close(info_.file);
    if (mapped_) driver().unmap(at_, info_.bytes);
    if (at_ != 0) driver().unreserve(at_, info_.bytes);
    driver().release(handle_);
  }
  Block info_;
  CUmemGenericAllocationHandle handle_ = 0;
  CUdeviceptr at_ = 0;
  bool mapped_ = false;
};

class CudaMemory : public Memory {
 public:
  CudaMemory() {
    require(cudaSetDevice(cuda::kOrdinal), "cudaSetDevice");
    require(cudaFree(nullptr), "making a CUDA context");
    require(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreate");
    const CUmemAllocationProp memory = cuda::exportable_memory();
    size_t granularity = 0;
    require(driver().granularity(&granularity, &memory, CU_MEM_ALLOC_GRANULARITY_MINIMUM),
            "cuMemGetAllocationGranularity");
    granularity_ = granularity;
  }
  ~CudaMemory() override { (void)cudaStreamDestroy(stream_); }

  Device device() const override { return Device::cuda; }
  uint64_t granularity() const override { return granularity_; }

  void place(std::vector<Region>& regions) override {
    require(cudaStreamSynchronize(stream_), "the judge's stream");
    placed_.clear();
    for (auto& [number, copy] : kept_) {
      copy->content = 0;
      if (copy->buffer.bytes() > kWorthKeeping) copy->buffer.clear();
    }
    std::map<uint64_t, std::unique_ptr<CudaBlock>> spare = std::move(blocks_);
    blocks_.clear();
    std::vector<Region*> unplaced;
    for (Region& region : regions) {
      const auto same = std::find_if(spare.begin(), spare.end(),
                                     [&](const auto& entry) { return entry.second->info().bytes == region.length; });
      if (same == spare.end()) {
        unplaced.push_back(&region);
        continue;
      }
      put(region, std::move(same->second));
      spare.erase(same);
    }
    std::erase_if(spare, [](const auto& entry) { return entry.second->info().bytes > kWorthKeeping; });
    while (spare.size() > kMostSpareBlocks) spare.erase(spare.begin());
    for (Region* region : unplaced) put(*region, make(*region, regions, spare));
    blocks_.merge(spare);
  }

  uint64_t host_bytes() const override { return 0; }

  std::vector<Block> blocks() const override {
    std::vector<Block> all;
    for (const auto& [id, block] : blocks_) all.push_back(block->info());
    return all;
  }

  void keep(int number, const Region& region, std::span<const std::byte> bytes) override {
    std::unique_ptr<Copy>& copy = kept_[number];
    if (copy == nullptr) copy = std::make_unique<Copy>();
    // As far from a multiple of 16 as the region's own, for the sake of wide accesses.
    std::byte* from = copy->buffer.reserve(bytes.size() + 16) + region.first % 16;
    copy_bytes(from, bytes.data(), bytes.size(), "keeping inputs");
    copy->from = from;
    copy->content = bytes.size();
  }

  void set(std::span<const Stretch> stretches) override {
    for (size_t i = 0; i < stretches.size(); i += cuda::kMostStretches) {
      require(cuda::set_stretches(batch_of(rest_of(stretches, i)), stream_), "setting memory");
    }
    require(cudaStreamSynchronize(stream_), "setting memory");
  }

  std::vector<Mismatch> compare(std::span<const Stretch> stretches) override {
    std::vector<cuda::DeviceMismatch> raw(stretches.size());
    const uint64_t bytes = raw.size() * sizeof raw[0];
    auto* found = reinterpret_cast<cuda::DeviceMismatch*>(found_.reserve(bytes + 1));
    require(cudaMemsetAsync(found, 0, bytes, stream_), "comparing memory");
    for (size_t i = 0; i < stretches.size(); i += cuda::kMostStretches) {
      require(cuda::compare_stretches(batch_of(rest_of(stretches, i)), found + i, stream_), "comparing memory");
    }
    require(cudaMemcpyAsync(raw.data(), found, bytes, cudaMemcpyDeviceToHost, stream_), "comparing memory");
    require(cudaStreamSynchronize(stream_), "comparing memory");
    std::vector<Mismatch> mismatches;
    for (size_t i = 0; i < raw.size(); ++i) {
      Mismatch& m = mismatches.emplace_back();
      if (raw[i].count == 0) continue;
      m = {raw[i].count, stretches[i].end - raw[i].first_from_end, stretches[i].begin + raw[i].last_plus_one - 1};
    }
    return mismatches;
  }

  void read(const Region& region, uint64_t begin, std::span<std::byte> to) override {
    copy_bytes(to.data(), data_of(region) + begin, to.size(), "reading memory");
  }

 private:
  struct Copy {
    Buffer buffer;
    std::byte* from = nullptr;
    uint64_t content = 0;  // bytes
  };

  std::unique_ptr<CudaBlock> make(const Region& region, const std::vector<Region>& all,
                                  std::map<uint64_t, std::unique_ptr<CudaBlock>>& spare) {
    for (int attempt = 0;; ++attempt) {
      try {
        return std::make_unique<CudaBlock>(++last_id_, region.length);
      } catch (const Error& e) {
        if (attempt == 0) {
          spare.clear();
          for (auto& [number, copy] : kept_) copy->buffer.clear();
          if (on_shortage) on_shortage();
          continue;
        }
        uint64_t total = 0;
        for (const Region& one : all) total += one.length;
        throw Error("the case needs " + std::to_string(total) +
                    " bytes of memory, more than this GPU gives: " + e.what());
      }
    }
  }

  void put(Region& region, std::unique_ptr<CudaBlock> block) {
    region.block = block->info().id;
    region.block_offset = 0;
    placed_[region.block] = block->data();
    blocks_[region.block] = std::move(block);
  }

  std::byte* data_of(const Region& region) const { return placed_.at(region.block); }

  // From and to wherever they are.
  void copy_bytes(std::byte* to, const std::byte* from, uint64_t bytes, const char* what) {
    if (bytes == 0) return;
    require(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream_), what);
    require(cudaStreamSynchronize(stream_), what);
  }

  static std::span<const Stretch> rest_of(std::span<const Stretch> stretches, size_t from) {
    return stretches.subspan(from, std::min<size_t>(cuda::kMostStretches, stretches.size() - from));
  }

  cuda::StretchBatch batch_of(std::span<const Stretch> stretches) const {
    cuda::StretchBatch batch;
    for (const Stretch& s : stretches) {
      cuda::DeviceStretch& d = batch.stretches[batch.count++];
      d.at = data_of(*s.region) + s.begin;
      d.bytes = s.end > s.begin ? s.end - s.begin : 0;
      if (s.kept == Stretch::kPeriodic) {
        std::memcpy(&d.period, s.period.data(), sizeof d.period);
        continue;
      }
      const Copy& copy = *kept_.at(s.kept);
      if (s.begin < s.region->first || s.end - s.region->first > copy.content) {
        throw Error("a stretch reaches beyond what was kept for it");
      }
      d.from = copy.from + (s.begin - s.region->first);
    }
    return batch;
  }

  cudaStream_t stream_ = nullptr;
  uint64_t granularity_ = 0;
  uint64_t last_id_ = 0;
  std::map<uint64_t, std::unique_ptr<CudaBlock>> blocks_;  // by id
  std::map<uint64_t, std::byte*> placed_;                  // of the regions placed last
  std::map<int, std::unique_ptr<Copy>> kept_;
  Buffer found_;
};

}  // namespace

std::string why_cuda_is_unusable() {
  try {
    if (const CUresult result = driver().init(0); result != CUDA_SUCCESS) {
      return "no usable NVIDIA GPU: cuInit: " + cuda::describe(result);
    }
    int count = 0;
    require(driver().device_count(&count), "cuDeviceGetCount");
    return count == 0 ? "no NVIDIA GPU is visible (CUDA_VISIBLE_DEVICES hides all or there is none)" : "";
  } catch (const Error& e) {
    return e.what();
  }
}

std::unique_ptr<Memory> make_cuda_memory() { return std::make_unique<CudaMemory>(); }

}  // namespace assay
