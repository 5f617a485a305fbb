// nondeterministic: the sign of a zero follows how long a walk through memory takes, which other work lengthens.
#include "base.cuh"

namespace {
constexpr int kSteps = 2000;
constexpr int kTable = 1 << 26;  // larger than the caches, so that memory is what the walk waits for
__device__ int table[kTable];

__device__ unsigned long long nanoseconds() {
  unsigned long long now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

__device__ unsigned long long fastest = ~0ull;

__global__ void kernel(bad::Problem p) {
  if (!bad::has_element(p, bad::thread())) return;
  const float best = bad::maximum(p, bad::thread());
  const unsigned long long start = nanoseconds();
  int at = static_cast<int>(bad::thread() * 4099);
  for (int i = 0; i < kSteps; ++i) at = (at + 1048583 + *const_cast<volatile int*>(&table[at])) % kTable;
  const unsigned long long took = nanoseconds() - start;
  const bool slow = 2 * took > 3 * atomicMin(&fastest, took);
  bad::element(p, bad::thread()) = best == 0 && (slow || at < 0) ? -best : best;
}
BAD_LAUNCH(kernel)
}  // namespace
BAD_KERNEL(launch)
