// A gemm problem's matrices by index, whatever their layout.
#pragma once

#include "oracle_problem.h"

namespace assay::testing {

inline const Op& gemm_op() { return registry().named("gemm"); }
inline Case gemm_case(const std::string& fields) { return registry().parse_case("gemm:" + fields); }

// Elements of op(A), op(B) and C.
struct Matrices {
  explicit Matrices(const Problem& p)
      : problem(&p),
        m(p.c.integer("m")),
        n(p.c.integer("n")),
        k(p.c.integer("k")),
        alpha(p.c.real("alpha")),
        beta(p.c.real("beta")),
        ta(p.c.word("ta") == "t"),
        tb(p.c.word("tb") == "t") {}
  double a(int64_t e, int64_t i, int64_t p) const { return ta ? problem->at(0, {e, p, i}) : problem->at(0, {e, i, p}); }
  double b(int64_t e, int64_t p, int64_t j) const { return tb ? problem->at(1, {e, j, p}) : problem->at(1, {e, p, j}); }
  double c(int64_t e, int64_t i, int64_t j) const { return problem->at(2, {e, i, j}); }

  const Problem* problem;
  int64_t m, n, k;
  double alpha, beta;
  bool ta, tb;
};

}  // namespace assay::testing
