// simd_math_test.cpp over every float.
#define ASSAY_FLOAT_STEP 1
#include "simd_math_test.cpp"
