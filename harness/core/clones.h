// Marks a hot loop, with all that it calls, to be compiled for several instruction sets, chosen when the program is
// loaded. Contraction is off
// and the loops keep their order of summation for each output, so every clone gives the same bits.
#pragma once

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__CUDACC__) && !defined(ASSAY_SANITIZED)
#define ASSAY_CLONES __attribute__((flatten, target_clones("default", "arch=haswell", "arch=x86-64-v4")))
#else
#define ASSAY_CLONES
#endif
