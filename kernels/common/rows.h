// What the launch code of the row kernels shares: the depth of their sums, and rows shared out among threads.
#ifndef ASSAY_KERNELS_COMMON_ROWS_H
#define ASSAY_KERNELS_COMMON_ROWS_H

#include <assay/kernel.h>
#include <omp.h>

#include <algorithm>
#include <cstdint>

#include "common/elements.h"

namespace assay::simd {

using namespace kernels;

// Depth of reduce_row's tree, as a contract declares it, for every instruction set the kernels are compiled for.
inline constexpr int32_t kRowDepthDivisor = 32;
inline constexpr int32_t kRowDepthConstant = 13;

inline constexpr uint32_t kRowPromises = ASSAY_SAME_RUN | ASSAY_SAME_RESTART | ASSAY_SAME_THREADS |
                                         ASSAY_SAME_ALIGNMENT | ASSAY_SAME_BATCH | ASSAY_SAME_PADDING |
                                         ASSAY_SAME_ORDER;

// Starting a thread's share costs about what moving this many bytes does.
inline constexpr int64_t kBytesWorthAThread = 64 << 10;

// Threads worth using for `items` that can be shared out and move `bytes` together.
inline int useful_threads(int threads, int64_t items, int64_t bytes) {
  return static_cast<int>(std::clamp<int64_t>(std::min(items, bytes / kBytesWorthAThread), 1, std::max(threads, 1)));
}

// Calls body(thread, begin, end) for consecutive parts of [0, count), one a thread.
template <class Body>
void parallel_ranges(int64_t count, int threads, const Body& body) {
  if (threads <= 1) {
    body(0, int64_t{0}, count);
    return;
  }
#pragma omp parallel num_threads(threads)
  {
    const int thread = omp_get_thread_num();
    const int team = omp_get_num_threads();
    body(thread, count / team * thread + std::min<int64_t>(count % team, thread),
         count / team * (thread + 1) + std::min<int64_t>(count % team, thread + 1));
  }
}

// A long row is gone through in two runs of equal length side by side, and short rows are taken in turns from the first
// half of them and from the second: two places of memory are read at once. kernel_ratios copies in one run and in two,
// and puts the kernels beside the faster.
inline constexpr int64_t kLongRow = 2048;  // elements; of both runs together

// Elements of a row's first run, a multiple of `step` where the row is long, all n where it is not.
[[gnu::always_inline]] inline int64_t first_run(int64_t n, int64_t step) {
  return n < kLongRow ? n : n / (2 * step) * step;
}

// Which of a row's pairs of vectors: of a long row's, the even ones are its first run and the odd ones the rest.
enum class Turn { only, even, odd };

// The k-th of `count` rows of n elements.
[[gnu::always_inline]] inline int64_t row_in_turn(int64_t k, int64_t count, int64_t n) {
  return n < kLongRow ? k % 2 * ((count + 1) / 2) + k / 2 : k;
}

// Asks memory for what lies `bytes` after `address`, or for nothing where nothing lies. The processor by itself fetches
// no further ahead than the page it reads, and 16-bit elements are too few bytes an instruction to look far. Always
// inline: the compiler takes a function that only fetches for one that does nothing.
[[gnu::always_inline]] inline void fetch_ahead(const void* address, int64_t bytes) {
  __builtin_prefetch(
      reinterpret_cast<const void*>(reinterpret_cast<uintptr_t>(address) + static_cast<uintptr_t>(bytes)));
}

// What a kernel keeps of a row between its passes lies in the workspace, a part for each thread, while it fits a
// level-2 cache.
inline constexpr int64_t kMostKeptBytes = 256 << 10;
inline constexpr int kMostKeepingThreads = 512;
inline constexpr uint64_t kKeptLimit = kMostKeptBytes * kMostKeepingThreads;  // of the workspace

// Bytes of a thread's part for rows of `cols` in the type that `element` is computed in; 0: too long to be kept. The
// parts lie apart: a processor fetches ahead past the end of its own, and would take lines that another writes.
inline int64_t kept_bytes(Element element, int64_t cols) {
  constexpr int64_t kPairBytes = 256, kApart = 16 << 10;  // kPairBytes: at least two vectors of any instruction set
  const int64_t row = cols * (element == Element::f64 ? 8 : 4);
  const int64_t bytes = (row + kPairBytes - 1) / kPairBytes * kPairBytes + kApart;
  return bytes <= kMostKeptBytes ? bytes : 0;
}

// Output larger than this goes around the caches: it would evict what is about to be read, and be evicted itself.
inline constexpr int64_t kBytesWorthStreaming = 16 << 20;

}  // namespace assay::simd
#endif
