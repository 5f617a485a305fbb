// What the launch code of the row kernels shares: the depth of their sums, and rows shared out among threads.
#ifndef ASSAY_KERNELS_COMMON_ROWS_H
#define ASSAY_KERNELS_COMMON_ROWS_H

#include <assay/kernel.h>
#include <omp.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

namespace assay::simd {

// Depth of reduce_row's tree, as a contract declares it, for every instruction set the kernels are compiled for.
inline constexpr int32_t kRowDepthDivisor = 32;
inline constexpr int32_t kRowDepthConstant = 13;

inline constexpr uint32_t kRowPromises = ASSAY_SAME_RUN | ASSAY_SAME_RESTART | ASSAY_SAME_THREADS |
                                         ASSAY_SAME_ALIGNMENT | ASSAY_SAME_BATCH | ASSAY_SAME_PADDING;

inline constexpr const char* kOwner = "kernels@assay.example";

// The element types of the row kernels, told apart once a launch.
enum class Element { f64, f32, f16, bf16 };

inline bool same(assay_dtype a, assay_dtype b) { return a.code == b.code && a.bits == b.bits && a.lanes == b.lanes; }

inline Element element_of(const Call& c, const char* tensor) {
  const assay_dtype dtype = c.tensor(tensor).dl.dtype;
  if (same(dtype, dtype_of<double>::value)) return Element::f64;
  if (same(dtype, dtype_of<float>::value)) return Element::f32;
  if (same(dtype, dtype_of<f16>::value)) return Element::f16;
  if (same(dtype, dtype_of<bf16>::value)) return Element::bf16;
  throw Refusal("tensor '" + std::string(tensor) + "' has another dtype");
}

inline int64_t bytes_of(Element e) { return e == Element::f64 ? 8 : e == Element::f32 ? 4 : 2; }

// A tensor whose last axis is contiguous: its address (null while planning) and the elements from one row to the next.
template <class Pointer>
struct Rows {
  Pointer data;
  int64_t stride;
};

template <class Pointer>
Rows<Pointer> rows_of(const Call& c, const char* name, Element element) {
  const assay_tensor& t = c.tensor(name);
  const int last = t.dl.ndim - 1;
  if (element_of(c, name) != element) throw Refusal("tensor '" + std::string(name) + "' has another dtype");
  if (last >= 0 && t.dl.shape[last] > 1 && t.dl.strides[last] != 1) {
    throw Refusal("tensor '" + std::string(name) + "': the elements of a row are not contiguous");
  }
  const int64_t stride = last > 0 ? t.dl.strides[last - 1] : 0;
  if (c.pointers() == nullptr) return {nullptr, stride};
  return {static_cast<std::byte*>(c.pointers()[&t - c.raw().tensors]) + t.dl.byte_offset, stride};
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

// Memory serves places that are far apart faster than one place. So a long row is gone through in two runs of equal
// length side by side, and short rows are taken in turns from the first half of them and from the second.
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

// Output larger than this goes around the caches: it would evict what is about to be read, and be evicted itself.
inline constexpr int64_t kBytesWorthStreaming = 16 << 20;

}  // namespace assay::simd
#endif
