// What the launch code of the row kernels shares: the depth of their sums, and rows shared out among threads.
#ifndef ASSAY_KERNELS_COMMON_ROWS_H
#define ASSAY_KERNELS_COMMON_ROWS_H

#include <assay/abi.h>
#include <omp.h>

#include <algorithm>
#include <cstdint>

namespace assay::simd {

// Depth of reduce_row's tree, as a contract declares it, for every instruction set the kernels are compiled for.
inline constexpr int32_t kRowDepthDivisor = 32;
inline constexpr int32_t kRowDepthConstant = 13;

inline constexpr uint32_t kRowPromises = ASSAY_SAME_RUN | ASSAY_SAME_RESTART | ASSAY_SAME_THREADS |
                                         ASSAY_SAME_ALIGNMENT | ASSAY_SAME_BATCH | ASSAY_SAME_PADDING;

inline constexpr const char* kOwner = "kernels@assay.example";

// The element types of the row kernels, told apart once a launch.
enum class Element { f64, f32, f16, bf16 };

inline Element element_of(assay_dtype t) {
  if (t.bits == 64) return Element::f64;
  if (t.bits == 32) return Element::f32;
  return t.code == 4 ? Element::bf16 : Element::f16;
}

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

// Output larger than this goes around the caches: it would evict what is about to be read, and be evicted itself.
inline constexpr int64_t kBytesWorthStreaming = 16 << 20;

}  // namespace assay::simd
#endif
