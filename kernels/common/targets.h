// Which instruction sets the SIMD kernels are compiled for. Include it before any Highway header; every SIMD kernel
// does, so that they all agree. x86: AVX3 (AVX-512), AVX2, and SSE4, which the flags ask of any processor; more are
// left out, because each set compiles the kernel once more. Highway chooses at run time; `describe` reports its choice.
// ASSAY_DISABLED_TARGETS leaves out others: under a sanitizer a set takes minutes to compile, and a seeded fault needs
// but the one it will run on. Without SSE4 there is code for vectors of one lane instead.
#ifndef ASSAY_KERNELS_COMMON_TARGETS_H
#define ASSAY_KERNELS_COMMON_TARGETS_H

#ifdef ASSAY_DISABLED_TARGETS
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | ASSAY_DISABLED_TARGETS)
#else
#define HWY_DISABLED_TARGETS HWY_SSSE3
#endif

namespace assay::simd {

// Why no SIMD kernel runs on this processor, or null: all that surrounds what Highway chooses is compiled with these.
inline const char* no_sse4() {
#ifdef __x86_64__
  if (!__builtin_cpu_supports("sse4.2") || !__builtin_cpu_supports("aes") || !__builtin_cpu_supports("pclmul")) {
    return "this processor lacks one of SSE4.2, AES and PCLMUL, with which the SIMD kernels are compiled";
  }
#endif
  return nullptr;
}

}  // namespace assay::simd

#endif
