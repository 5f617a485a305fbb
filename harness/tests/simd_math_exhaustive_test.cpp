// simd_math_test.cpp over every float: of exp all, of GELU those from 2^-12 to 8 in magnitude.
#define ASSAY_FLOAT_STEP 1
#include "simd_math_test.cpp"  // NOLINT(bugprone-suspicious-include): the same tests, with another step
