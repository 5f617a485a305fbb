// Matrix multiply-accumulate of one warp (PTX ISA, "mma.sync" and "ldmatrix"), since compute capability 8.0.
//
// A tile of an operand lies in shared memory either K-major, [line][k], or [k][line], 16 bytes of K or of lines
// together. Fragments are made of 8 x 16-byte matrices: of A 16 lines by 32 bytes of K, of B two times 8 lines by 32
// bytes.
#ifndef ASSAY_KERNELS_COMMON_MMA_CUH
#define ASSAY_KERNELS_COMMON_MMA_CUH

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

namespace assay::mma {

template <bool kTransposed>
__device__ inline void load_matrices(uint32_t (&to)[4], const void* row) {
  const auto address = static_cast<uint32_t>(__cvta_generic_to_shared(row));
  if constexpr (kTransposed) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(address));
  } else {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(address));
  }
}

// Lines `line` to `line` + 15 by 32 bytes of K from `k` (in elements); `pitch` is in elements. Transposed loads are of
// 16-bit elements.
template <bool kMajor, class T>
__device__ inline void load_a(uint32_t (&fragment)[4], const T* tile, int pitch, int line, int k, int lane) {
  constexpr int kHalf = 16 / int(sizeof(T));  // elements of K in 16 bytes
  if constexpr (kMajor) {
    load_matrices<false>(fragment, tile + (line + lane % 16) * pitch + k + lane / 16 * kHalf);
  } else {
    load_matrices<true>(fragment, tile + (k + lane / 16 * 8 + lane % 8) * pitch + line + lane / 8 % 2 * 8);
  }
}

// The same lines for B: fragment[0] and [1] are those of the first 8 lines.
template <bool kMajor, class T>
__device__ inline void load_b(uint32_t (&fragment)[4], const T* tile, int pitch, int line, int k, int lane) {
  constexpr int kHalf = 16 / int(sizeof(T));
  if constexpr (kMajor) {
    load_matrices<false>(fragment, tile + (line + lane / 16 * 8 + lane % 8) * pitch + k + lane / 8 % 2 * kHalf);
  } else {
    load_matrices<true>(fragment, tile + (k + lane / 8 % 2 * 8 + lane % 8) * pitch + line + lane / 16 * 8);
  }
}

// d += a b: 16 lines of A by 8 of B. Lane t holds in d[2 h + i] row t / 4 + 8 h, column 2 (t % 4) + i.
__device__ inline void multiply(float (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1, __nv_bfloat16) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, "
      "%3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
__device__ inline void multiply(float (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1, __half) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, "
      "%3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
// Sums modulo 2^32.
__device__ inline void multiply(int32_t (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1, int8_t) {
  asm volatile(
      "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

}  // namespace assay::mma
#endif
