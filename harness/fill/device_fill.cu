#include "core/cuda.cuh"
#include "core/strided.h"
#include "fill/device_fill.h"

namespace assay {
namespace {

template <class Bits>
__global__ void fill(FillPlan plan, Strided where, Bits* first) {
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < plan.elements; i += step) {
    first[where.offset(i)] = static_cast<Bits>(encode(plan.dtype, fill_unrounded(plan, i)));
  }
}

template <class Bits>
void launch(const FillPlan& plan, const Strided& where, void* first, cudaStream_t stream) {
  fill<<<blocks_for(plan.elements), kThreads, 0, stream>>>(plan, where, static_cast<Bits*>(first));
  require_launched("fill");
}

}  // namespace

void fill_on_device(const TensorSpec& spec, uint64_t seed, void* first_element, void* stream) {
  const FillPlan plan = plan_fill(spec.fill, seed, spec.name, spec.shape, spec.dtype);
  if (plan.elements == 0) return;
  const Strided where = strided(spec);
  switch (size_of(spec.dtype)) {
    case 8:
      return launch<uint64_t>(plan, where, first_element, stream_of(stream));
    case 4:
      return launch<uint32_t>(plan, where, first_element, stream_of(stream));
    case 2:
      return launch<uint16_t>(plan, where, first_element, stream_of(stream));
    default:
      return launch<uint8_t>(plan, where, first_element, stream_of(stream));
  }
}

}  // namespace assay
