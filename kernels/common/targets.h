// Which instruction sets the SIMD kernels are compiled for. Include it before any Highway header; every SIMD kernel
// does, so that they all agree. x86: AVX3 (AVX-512), AVX2, SSE4 and the scalar code that any x86-64 runs; SSSE3 is left
// out, because each set compiles the kernel once more. Highway chooses at run time; `describe` reports its choice.
// ASSAY_DISABLED_TARGETS leaves out others: under a sanitizer a set takes minutes to compile, and a seeded fault needs
// but the one it will run on.
#ifndef ASSAY_KERNELS_COMMON_TARGETS_H
#define ASSAY_KERNELS_COMMON_TARGETS_H

#ifdef ASSAY_DISABLED_TARGETS
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | ASSAY_DISABLED_TARGETS)
#else
#define HWY_DISABLED_TARGETS HWY_SSSE3
#endif

#endif
