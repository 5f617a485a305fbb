// Sets and compares stretches of device memory, many in one launch. Every stretch moves once, 16 bytes a thread and
// step, whatever its alignment.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

namespace assay::cuda {

// What [at, at + bytes) holds or should hold: `from`, which is as far from a multiple of 16 as `at` is; or, where that
// is null, a period of 8 bytes in step with address 0.
struct DeviceStretch {
  std::byte* at = nullptr;
  const std::byte* from = nullptr;
  uint64_t bytes = 0;
  uint64_t period = 0;  // its first byte lowest
};

inline constexpr int kMostStretches = 32;
struct StretchBatch {
  int count = 0;
  DeviceStretch stretches[kMostStretches];
};

// In bytes from `at`. Zeroed before comparing, so that each is found by a maximum.
struct DeviceMismatch {
  unsigned long long count = 0;
  unsigned long long first_from_end = 0;  // bytes - first, of the lowest
  unsigned long long last_plus_one = 0;
};

cudaError_t set_stretches(const StretchBatch& batch, cudaStream_t stream);
// `found` is device memory, one a stretch.
cudaError_t compare_stretches(const StretchBatch& batch, DeviceMismatch* found, cudaStream_t stream);

}  // namespace assay::cuda
