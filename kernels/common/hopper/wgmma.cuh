// Warp-group matrix multiply-accumulate of sm_90a, D += A B with A and B in shared memory (PTX ISA, "wgmma.mma_async").
// One product is m64 nN kK, K being 32 bytes of elements; D lies in the registers of 128 threads: thread t holds in
// d[4 j + 2 h + i] the element of row 16 (t / 32) + t % 32 / 4 + 8 h and column 8 j + 2 (t % 4) + i.
// To add a type: one ASSAY_WGMMA line. Where the target has no such instruction the functions are empty.
#ifndef ASSAY_KERNELS_COMMON_HOPPER_WGMMA_CUH
#define ASSAY_KERNELS_COMMON_HOPPER_WGMMA_CUH

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <cstdint>

namespace assay::hopper {

// Tiles in shared memory are rows of 128 bytes, swizzled by 128 bytes, on 1024-byte boundaries. K-major: a row is one
// of op(A) or a column of op(B), and its bytes run along K. Otherwise a row is one k and its bytes run along M or N, in
// blocks of `block_bytes` that hold all k of the tile.
template <bool kMajor>
__device__ inline uint64_t matrix_descriptor(uint32_t shared_address, uint32_t block_bytes) {
  constexpr uint64_t kSwizzle128 = uint64_t{1} << 62;
  constexpr uint64_t kEightRows = (8 * 128) >> 4;
  const uint64_t leading = kMajor ? 1 : block_bytes >> 4;
  return kSwizzle128 | kEightRows << 32 | leading << 16 | (shared_address & 0x3ffff) >> 4;
}

#ifdef __CUDA_ARCH_FEAT_SM90_ALL
__device__ inline void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ inline void wgmma_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
// Waits until at most kPending committed groups are unfinished.
template <int kPending>
__device__ inline void wgmma_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kPending) : "memory");
}

// clang-format off
#define ASSAY_REGISTERS_64 \
  "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, " \
  "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, " \
  "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, " \
  "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define ASSAY_REGISTERS_128 \
  "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, " \
  "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, " \
  "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, " \
  "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, " \
  "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, " \
  "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, " \
  "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, " \
  "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"
#define ASSAY_4(c, i) c(d[i]), c(d[i + 1]), c(d[i + 2]), c(d[i + 3])
#define ASSAY_16(c, i) ASSAY_4(c, i), ASSAY_4(c, i + 4), ASSAY_4(c, i + 8), ASSAY_4(c, i + 12)
#define ASSAY_D_64(c) ASSAY_16(c, 0), ASSAY_16(c, 16), ASSAY_16(c, 32), ASSAY_16(c, 48)
#define ASSAY_D_128(c) ASSAY_D_64(c), ASSAY_16(c, 64), ASSAY_16(c, 80), ASSAY_16(c, 96), ASSAY_16(c, 112)

// The immediates after the predicate are signs of A and B and, for 16-bit types, whether A and B are M- and N-major.
#define ASSAY_WGMMA(sum, in, n, regs, types, c, immediates, descriptor_a, descriptor_b, keep, ...)              \
  template <bool kMajorA, bool kMajorB>                                                                          \
  __device__ inline void wgmma(sum (&d)[regs], in, uint64_t a, uint64_t b, int accumulate) {                     \
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, " keep ", 0;\n"                                               \
                 "wgmma.mma_async.sync.aligned.m64n" #n types " {" ASSAY_REGISTERS_##regs "}, " descriptor_a ", " \
                 descriptor_b ", p" immediates ";\n}\n"                                                          \
                 : ASSAY_D_##regs(c)                                                                             \
                 : "l"(a), "l"(b), "r"(accumulate) __VA_OPT__(,) __VA_ARGS__);                                   \
  }
#define ASSAY_MAJORS "n"(int(!kMajorA)), "n"(int(!kMajorB))
ASSAY_WGMMA(float, __nv_bfloat16, 128, 64, "k16.f32.bf16.bf16", "+f", ", 1, 1, %67, %68", "%64", "%65", "%66", ASSAY_MAJORS)
ASSAY_WGMMA(float, __nv_bfloat16, 256, 128, "k16.f32.bf16.bf16", "+f", ", 1, 1, %131, %132", "%128", "%129", "%130", ASSAY_MAJORS)
ASSAY_WGMMA(float, __half, 128, 64, "k16.f32.f16.f16", "+f", ", 1, 1, %67, %68", "%64", "%65", "%66", ASSAY_MAJORS)
ASSAY_WGMMA(float, __half, 256, 128, "k16.f32.f16.f16", "+f", ", 1, 1, %131, %132", "%128", "%129", "%130", ASSAY_MAJORS)
ASSAY_WGMMA(float, __nv_fp8_e4m3, 128, 64, "k32.f32.e4m3.e4m3", "+f", ", 1, 1", "%64", "%65", "%66")
ASSAY_WGMMA(int32_t, int8_t, 256, 128, "k32.s32.s8.s8", "+r", "", "%128", "%129", "%130")
#undef ASSAY_WGMMA
#undef ASSAY_MAJORS
#undef ASSAY_D_128
#undef ASSAY_D_64
#undef ASSAY_16
#undef ASSAY_4
#undef ASSAY_REGISTERS_128
#undef ASSAY_REGISTERS_64
// clang-format on
#endif

}  // namespace assay::hopper
#endif
