#include <algorithm>

#include "device/stretches_cuda.cuh"

namespace assay::cuda {
namespace {

constexpr int kThreads = 256;
constexpr uint64_t kMostBlocks = 1024;  // a stretch: enough to fill a GPU several times over

// A stretch as 16-byte words between two ragged ends.
struct Parts {
  uint64_t head, words, ends;
};

__device__ Parts parts_of(const DeviceStretch& s) {
  const auto address = reinterpret_cast<uint64_t>(s.at);
  const uint64_t to_word = (16 - address % 16) % 16;
  const uint64_t head = to_word < s.bytes ? to_word : s.bytes;
  const uint64_t words = (s.bytes - head) / 16;
  return {head, words, s.bytes - 16 * words};
}

__device__ uint64_t end_at(const Parts& p, uint64_t i) { return i < p.head ? i : i + 16 * p.words; }

__device__ ulonglong2 word_of(const DeviceStretch& s, uint64_t offset) {
  if (s.from == nullptr) return {s.period, s.period};
  return *reinterpret_cast<const ulonglong2*>(s.from + offset);
}

__device__ std::byte byte_of(const DeviceStretch& s, uint64_t offset) {
  if (s.from != nullptr) return s.from[offset];
  const auto address = reinterpret_cast<uint64_t>(s.at) + offset;
  return static_cast<std::byte>(s.period >> (8 * (address % 8)) & 0xff);
}

__global__ void set_kernel(const __grid_constant__ StretchBatch batch) {
  const DeviceStretch s = batch.stretches[blockIdx.y];
  const Parts p = parts_of(s);
  const uint64_t thread = blockIdx.x * uint64_t{blockDim.x} + threadIdx.x, threads = gridDim.x * uint64_t{blockDim.x};
  for (uint64_t i = thread; i < p.words; i += threads) {
    const uint64_t offset = p.head + 16 * i;
    *reinterpret_cast<ulonglong2*>(s.at + offset) = word_of(s, offset);
  }
  for (uint64_t i = thread; i < p.ends; i += threads) s.at[end_at(p, i)] = byte_of(s, end_at(p, i));
}

__device__ void note(const DeviceStretch& s, uint64_t offset, DeviceMismatch& found) {
  atomicAdd(&found.count, 1ull);
  atomicMax(&found.first_from_end, static_cast<unsigned long long>(s.bytes - offset));
  atomicMax(&found.last_plus_one, static_cast<unsigned long long>(offset + 1));
}

__global__ void compare_kernel(const __grid_constant__ StretchBatch batch, DeviceMismatch* all_found) {
  const DeviceStretch s = batch.stretches[blockIdx.y];
  DeviceMismatch& found = all_found[blockIdx.y];
  const Parts p = parts_of(s);
  const uint64_t thread = blockIdx.x * uint64_t{blockDim.x} + threadIdx.x, threads = gridDim.x * uint64_t{blockDim.x};
  for (uint64_t i = thread; i < p.words; i += threads) {
    const uint64_t offset = p.head + 16 * i;
    const ulonglong2 got = *reinterpret_cast<const ulonglong2*>(s.at + offset), want = word_of(s, offset);
    if (got.x == want.x && got.y == want.y) continue;
    for (uint64_t k = offset; k < offset + 16; ++k) {
      if (s.at[k] != byte_of(s, k)) note(s, k, found);
    }
  }
  for (uint64_t i = thread; i < p.ends; i += threads) {
    const uint64_t offset = end_at(p, i);
    if (s.at[offset] != byte_of(s, offset)) note(s, offset, found);
  }
}

dim3 grid_of(const StretchBatch& batch) {
  uint64_t longest = 0;
  for (int i = 0; i < batch.count; ++i) longest = std::max(longest, batch.stretches[i].bytes);
  const uint64_t blocks = std::clamp<uint64_t>(longest / (16 * kThreads) + 1, 1, kMostBlocks);
  return {static_cast<unsigned>(blocks), static_cast<unsigned>(batch.count), 1};
}

}  // namespace

cudaError_t set_stretches(const StretchBatch& batch, cudaStream_t stream) {
  if (batch.count > 0) set_kernel<<<grid_of(batch), kThreads, 0, stream>>>(batch);
  return cudaGetLastError();
}

cudaError_t compare_stretches(const StretchBatch& batch, DeviceMismatch* found, cudaStream_t stream) {
  if (batch.count > 0) compare_kernel<<<grid_of(batch), kThreads, 0, stream>>>(batch, found);
  return cudaGetLastError();
}

}  // namespace assay::cuda
