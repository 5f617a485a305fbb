#include "core/cuda.cuh"
#include "core/strided.h"
#include "fill/device_fill.h"

namespace assay {
namespace {

template <class Bits>
__global__ void fill(FillPlan plan, Strided where, int64_t begin, int64_t end, Bits* first) {
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = begin + int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < end; i += step) {
    first[where.offset(i)] = static_cast<Bits>(fill_bits(plan, i));
  }
}

template <class Bits>
void launch(const FillPlan& plan, const Strided& where, int64_t begin, int64_t end, void* first, cudaStream_t stream) {
  fill<<<blocks_for(end - begin), kThreads, 0, stream>>>(plan, where, begin, end, static_cast<Bits*>(first));
  require_launched("fill");
}

// Logical elements begin to end.
void fill_part(const FillPlan& plan, const Strided& where, int64_t begin, int64_t end, void* first,
               cudaStream_t stream) {
  if (begin >= end) return;
  switch (size_of(plan.dtype)) {
    case 8:
      return launch<uint64_t>(plan, where, begin, end, first, stream);
    case 4:
      return launch<uint32_t>(plan, where, begin, end, first, stream);
    case 2:
      return launch<uint16_t>(plan, where, begin, end, first, stream);
    default:
      return launch<uint8_t>(plan, where, begin, end, first, stream);
  }
}

}  // namespace

void fill_on_device(const TensorSpec& spec, uint64_t seed, void* first_element, void* stream) {
  const FillPlan plan = plan_fill(spec.fill, seed, spec.name, spec.shape, spec.dtype);
  if (plan.elements == 0) return;
  const Strided where = strided(spec);
  if (!spec.fill.support) return fill_part(plan, where, 0, plan.elements, first_element, stream_of(stream));
  const FillPlan zeros{.generator = Generator::zeros, .dtype = spec.dtype, .elements = plan.elements};
  fill_part(zeros, where, 0, plan.elements, first_element, stream_of(stream));
  for (const IndexRange& range : *spec.fill.support) {
    const int64_t end = range.last < plan.elements ? range.last + 1 : plan.elements;
    fill_part(plan, where, range.first, end, first_element, stream_of(stream));
  }
}

}  // namespace assay
