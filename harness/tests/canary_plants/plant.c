/* Stands before OpenBLAS, libplantedb.so.0 here, under its soname, and changes one thing of cblas_sgemm:
 *   PLANT_WRONG   one element of the shape 33 x 17 x 65 is off
 *   PLANT_SLOW    the shape 1 x 128 x 896 takes 30 % longer
 *   PLANT_ORDER   sums of 16 terms and more are those of two halves */
#include <dlfcn.h>
#include <stddef.h>
#include <time.h>

enum { kNoTrans = 111 };
typedef void gemm(int, int, int, int, int, int, float, const float*, int, const float*, int, float, float*, int);

static gemm* real(void) {
  static gemm* found;
  if (found == NULL) found = (gemm*)dlsym(RTLD_NEXT, "cblas_sgemm");
  return found;
}

#ifdef PLANT_SLOW
static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
#endif

/* All calls of the modules are of rows, CblasRowMajor. */
void cblas_sgemm(int order, int ta, int tb, int m, int n, int k, float alpha, const float* a, int lda, const float* b,
                 int ldb, float beta, float* c, int ldc) {
#if defined(PLANT_ORDER)
  const int half = k / 2;
  if (k >= 16) {
    real()(order, ta, tb, m, n, half, alpha, a, lda, b, ldb, beta, c, ldc);
    a += ta == kNoTrans ? half : (ptrdiff_t)half * lda;
    b += tb == kNoTrans ? (ptrdiff_t)half * ldb : half;
    real()(order, ta, tb, m, n, k - half, alpha, a, lda, b, ldb, 1, c, ldc);
    return;
  }
#elif defined(PLANT_SLOW)
  if (m == 1 && n == 128 && k == 896) {
    const double began = now();
    real()(order, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
    const double until = now() + 0.3 * (now() - began);
    while (now() < until) {
    }
    return;
  }
#endif
  real()(order, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
#ifdef PLANT_WRONG
  if (m == 33 && n == 17 && k == 65) c[5] += 1;
#endif
}
