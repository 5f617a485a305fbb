#include "measure/sentinel.h"

#include <cstddef>
#include <numeric>
#include <vector>

#include "measure/sampler_cuda.h"
#include "measure/sentinel_cuda.h"

namespace assay {
namespace {

// Medians of so many samples, each of the whole work: never in batches.
SamplerOptions options(const char* name, int64_t samples) {
  return {.name = name,
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

SentinelSamples sample_sentinel(WorkerDevice& device) {
#ifdef ASSAY_CUDA
  if (device.stream() != nullptr) {
    const SentinelCopy copy;
    return {sample_on_gpu(
                options("sentinel compute", 32), device, [&] { queue_sentinel_chain(device.stream()); }, Caches::warm),
            sample_on_gpu(
                options("sentinel memory", 16), device, [&] { copy.queue(device.stream()); }, Caches::warm)};
  }
#endif
  (void)device;
  volatile uint64_t result = 1;
  const std::vector<uint64_t> memory(size_t{16} << 17, 1);  // 16 MiB
  return {sample(options("sentinel compute", 21), [&] { result = chain(result); }),
          sample(options("sentinel memory", 7),
                 [&] { result = std::accumulate(memory.begin(), memory.end(), result + 0); })};
}

}  // namespace assay
