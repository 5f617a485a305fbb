#include "measure/sentinel.h"

#include <cstdint>

#include "measure/sampler_cuda.h"
#include "measure/sentinel_cuda.h"

namespace assay {
namespace {

// Each sample is of the whole work: never in batches.
SamplerOptions options(int64_t samples) {
  return {.name = "sentinel",
          .below_50us = samples,
          .below_500us = samples,
          .longer = samples,
          .warm_up_launches = 3,
          .warm_up_seconds = 0};
}

constexpr int kLinks = 60'000;  // a multiplication and an addition each: about four cycles

uint64_t chain(uint64_t x) {
  // Knuth's multiplier for linear congruential generators of 64 bits.
  for (int i = 0; i < kLinks; ++i) x = x * 6364136223846793005u + 1442695040888963407u;
  return x;
}

}  // namespace

SampleSet sample_sentinel(WorkerDevice& device) {
#ifdef ASSAY_CUDA
  if (device.stream() != nullptr) {
    return sample_on_gpu(
        options(32), device, [&] { queue_sentinel_chain(device.stream()); }, Caches::warm);
  }
#endif
  (void)device;
  volatile uint64_t result = 1;
  return sample(options(21), [&] { result = chain(result); });
}

}  // namespace assay
