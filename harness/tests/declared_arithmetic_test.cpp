// What a contract declares of its arithmetic buys no bound that the op does not allow: a type narrower than the output
// charges nothing, and a sum of few terms is charged with no more roundings than it has.
#include <gtest/gtest.h>

#include <cmath>

#include "oracle_problem.h"

namespace assay {
namespace {

using testing::plain_contract;
using testing::Problem;

Case parse(const std::string& id) { return testing::registry().parse_case(id); }

// Of every op that results pass through an intermediate type in.
const char* const kIntermediate[] = {"gemm:m=4,n=5,k=60", "reduce:kind=sum,outer=9,n=101", "softmax:rows=3,cols=50",
                                     "bias_gelu:rows=3,cols=50,form=erf", "layernorm_residual:rows=3,cols=50"};

Contract contract_with(int32_t accumulator, int32_t intermediate) {
  Contract contract = plain_contract(accumulator, 32, 16);
  contract.arithmetic.exp_kind = ASSAY_EXP_ACCURATE;
  contract.arithmetic.intermediate = intermediate;
  return contract;
}

double bound(const Problem& problem, const Contract& contract, const Reference& r, size_t i) {
  return problem.op->bounds(problem.c, contract, r).e_alg[i];
}

TEST(Intermediate, ThatIsNarrowerThanTheOutputIsNotCharged) {
  for (const std::string id : kIntermediate) {
    const Case c = parse(id + ",dtype=f64");
    const Problem problem(testing::registry().named(c.op()), c);
    for (const Reference& r : problem.oracle()) {
      const auto all = [&](int32_t accumulator, int32_t intermediate) {
        return problem.op->bounds(c, contract_with(accumulator, intermediate), r).e_alg;
      };
      const std::vector<double> plain = all(ASSAY_ACC_F64, ASSAY_ACC_NONE);
      EXPECT_EQ(all(ASSAY_ACC_F64, ASSAY_ACC_F32), plain) << id << " " << r.tensor;
      EXPECT_EQ(all(ASSAY_ACC_F32, ASSAY_ACC_F32), plain) << id << " " << r.tensor;
      // r rounded to f32 and back is what such a kernel gives.
      const auto in_f32 = [&](int64_t i) { return double(float(r.hi[static_cast<size_t>(i)])); };
      EXPECT_GT(problem.judge(r, contract_with(ASSAY_ACC_F64, ASSAY_ACC_F32), in_f32).failures, 0)
          << id << " " << r.tensor;
    }
  }
}

TEST(Intermediate, ThatIsAllowedIsChargedOnceWithTheResult) {
  for (const std::string id : kIntermediate) {
    const Case c = parse(id + ",dtype=f32");
    const Problem problem(testing::registry().named(c.op()), c);
    for (const Reference& r : problem.oracle()) {
      for (size_t i = 0; i < r.size(); ++i) {
        const double plain = bound(problem, contract_with(ASSAY_ACC_F64, ASSAY_ACC_NONE), r, i);
        const double charged = bound(problem, contract_with(ASSAY_ACC_F64, ASSAY_ACC_F32), r, i);
        EXPECT_NEAR((charged - plain) / std::fabs(r.hi[i]), 0x1p-24, 0x1p-32) << id << " " << r.tensor << " " << i;
      }
    }
  }
  // Where beta c may be added after it, the product that passes it may be as large as its terms.
  const Case c = parse("gemm:m=4,n=5,k=60,beta=1,dtype=f32");
  const Problem problem(testing::registry().named("gemm"), c);
  const Reference r = problem.oracle()[0];
  EXPECT_NEAR((bound(problem, contract_with(ASSAY_ACC_F64, ASSAY_ACC_F32), r, 3) -
               bound(problem, contract_with(ASSAY_ACC_F64, ASSAY_ACC_NONE), r, 3)) /
                  r.conditions[0][3],
              0x1p-24, 0x1p-32);
}

TEST(Depth, OfFewTermsIsNoDeeperThanTheyAre) {
  for (const std::string id : {"softmax:rows=8,cols=2", "layernorm_residual:rows=8,cols=2", "blas_dot:n=2,batch=8",
                               "reduce:kind=sum,outer=8,n=2", "blas_asum:n=2,batch=8"}) {
    const Case c = parse(id + ",dtype=f32");
    const Problem problem(testing::registry().named(c.op()), c);
    for (const Reference& r : problem.oracle()) {
      Contract shallow = plain_contract(ASSAY_ACC_F32, 32, 4), deep = plain_contract(ASSAY_ACC_F32, 32, 48);
      for (Contract* contract : {&shallow, &deep}) {
        contract->arithmetic.exp_kind = ASSAY_EXP_ACCURATE;
        contract->arithmetic.rescales_online = 1;
      }
      EXPECT_EQ(problem.op->bounds(c, deep, r).e_alg, problem.op->bounds(c, shallow, r).e_alg) << id << " " << r.tensor;
    }
  }
}

}  // namespace
}  // namespace assay
