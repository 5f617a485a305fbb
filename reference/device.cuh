// What the oracles' launches share: tensors as kernels see them, inputs decoded to double, and bounds element by
// element.
#pragma once

#include <span>

#include "core/cuda.cuh"
#include "core/device_memory.h"
#include "core/device_oracle.h"
#include "reference/math/dd.h"

namespace assay {

// Rows of a matrix with unit stride along the row, or a vector (one row).
struct DeviceRows {
  const void* data;
  DType dtype;
  int64_t stride;  // elements from row to row
  int64_t cols;
};

inline DeviceRows rows_of(const DeviceTensor& tensor) {
  const TensorSpec& spec = *tensor.spec;
  return {tensor.data, spec.dtype, spec.shape.size() > 1 ? spec.strides[0] : 0, spec.shape.back()};
}

// An element in device memory, at a multiple of its own size.
__device__ inline double load_aligned(DType t, const void* base, int64_t i) {
  switch (size_of(t)) {
    case 8:
      return decode(t, static_cast<const uint64_t*>(base)[i]);
    case 4:
      return decode(t, static_cast<const uint32_t*>(base)[i]);
    case 2:
      return decode(t, static_cast<const uint16_t*>(base)[i]);
    default:
      return decode(t, static_cast<const uint8_t*>(base)[i]);
  }
}

namespace device_detail {

static __global__ void decode_rows(DeviceRows in, int64_t first, int64_t count, double* out) {
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step) {
    out[i] = load_aligned(in.dtype, in.data, (first + i / in.cols) * in.stride + i % in.cols);
  }
}

template <class Rule>
struct BoundsJob {
  Rule rule;
  DeviceReference reference;
  DeviceBounds out;
  Per per[DeviceReference::kMostConditions];
  int conditions;
  int64_t elements, row_elements;
};

template <class Rule>
__global__ void form_bounds(BoundsJob<Rule> job) {
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < job.elements; i += step) {
    const int64_t row = job.row_elements == 1 ? i : i / job.row_elements;
    double k[DeviceReference::kMostConditions];
#pragma unroll
    for (int c = 0; c < DeviceReference::kMostConditions; ++c) {
      if (c >= job.conditions) continue;
      const int64_t at = job.per[c] == Per::element ? i : job.per[c] == Per::row ? row : i - row * job.row_elements;
      k[c] = job.reference.conditions[c][at];
    }
    const ElementBound bound = job.rule(job.rule.of_row(k), job.reference.hi[i], job.reference.e_ref[i], k);
    job.out.e_alg[i] = bound.e_alg;
    job.out.evidence[i] = bound.evidence;
  }
}

}  // namespace device_detail

// Rows [first, first + rows), decoded and packed.
inline void decode_rows(const DeviceRows& in, int64_t first, int64_t rows, double* out, cudaStream_t stream) {
  const int64_t count = rows * in.cols;
  if (count == 0) return;
  device_detail::decode_rows<<<blocks_for(count), kThreads, 0, stream>>>(in, first, count, out);
  require_launched("oracle inputs");
}

// As bounds_of() of rule.h, for `rows` rows.
template <class Rule>
void bounds_on_device(const Rule& rule, const DeviceOutput& output, int64_t rows, const DeviceReference& reference,
                      const DeviceBounds& out, void* stream) {
  device_detail::BoundsJob<Rule> job{.rule = rule,
                                     .reference = reference,
                                     .out = out,
                                     .conditions = static_cast<int>(output.conditions.size()),
                                     .elements = rows * output.row_elements,
                                     .row_elements = output.row_elements};
  std::copy(output.conditions.begin(), output.conditions.end(), job.per);
  if (job.elements == 0) return;
  device_detail::form_bounds<<<blocks_for(job.elements), kThreads, 0, stream_of(stream)>>>(job);
  require_launched("bounds");
}

}  // namespace assay
