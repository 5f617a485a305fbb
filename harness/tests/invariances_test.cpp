// The invariance matrix, from records made up here.
#include "gate/invariances.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "core/contract.h"
#include "record/invariance.h"
#include "record/verdict.h"

namespace assay {
namespace {

using ::testing::HasSubstr;

Record record(const std::string& kernel, std::vector<CheckResult> checks) {
  Record one;
  one.op = "gemm";
  one.kernel = kernel;
  one.verdict = Verdict::pass;
  one.checks = std::move(checks);
  return one;
}

Invariant of(const InvarianceMatrix& matrix, const std::string& kernel, std::string_view check) {
  const auto found = std::find_if(kInvariances.begin(), kInvariances.end(),
                                  [&](const Invariance& invariance) { return invariance.check == check; });
  return matrix.at(kernel)[static_cast<size_t>(found - kInvariances.begin())];
}

TEST(Invariances, AreChecksOfTheTableAndAtLeastFifteen) {
  EXPECT_GE(kInvariances.size(), 15u);
  for (const Invariance& invariance : kInvariances) EXPECT_NO_THROW(check_result(invariance.check, Outcome::pass));
}

TEST(Invariances, EachPromiseHasANameOfItsOwn) {
  std::set<std::string> names;
  for (uint32_t bit = ASSAY_SAME_RUN; bit <= ASSAY_SAME_ZEROS; bit <<= 1) {
    ASSERT_EQ(promise_names(bit).size(), 1u) << bit;
    EXPECT_TRUE(names.insert(promise_names(bit)[0]).second) << bit;
    EXPECT_TRUE(std::ranges::any_of(kInvariances, [&](const Invariance& i) { return i.promise == bit; })) << bit;
  }
}

TEST(Invariances, TheWorstOfAKernelsCasesIsItsWord) {
  const std::string observed(kObserved), varies = std::string(kVaries) + "alone";
  const InvarianceMatrix matrix = invariances_of(
      {record("a", {check_result("same-run", Outcome::pass), check_result("same-load", Outcome::pass, observed),
                    check_result("same-batch", Outcome::pass, observed),
                    check_result("scaling", Outcome::pass, "3 elements"),
                    check_result("same-graph", Outcome::not_applicable, "not queued on a CPU")}),
       record("a", {check_result("same-run", Outcome::fail, "launch 3: x"),
                    check_result("same-load", Outcome::pass, observed),
                    check_result("same-batch", Outcome::not_applicable, varies)}),
       record("b", {check_result("same-run", Outcome::pass), check_result("accuracy", Outcome::fail, "x")})});
  EXPECT_EQ(of(matrix, "gemm/a", "same-run").word(), "broken");
  EXPECT_EQ(of(matrix, "gemm/a", "same-load"), (Invariant{.observed = 2}));
  EXPECT_EQ(of(matrix, "gemm/a", "same-load").word(), "observed");
  EXPECT_EQ(of(matrix, "gemm/a", "same-batch").word(), "varies");
  EXPECT_EQ(of(matrix, "gemm/a", "scaling").word(), "promised");
  EXPECT_EQ(of(matrix, "gemm/a", "same-graph").word(), "unknown");
  EXPECT_EQ(of(matrix, "gemm/b", "same-run").word(), "promised");
  const std::string table = invariance_table(matrix);
  EXPECT_THAT(table, HasSubstr("| gemm/a | **broken** 1 of 2 |"));
  EXPECT_THAT(table, HasSubstr("| varies 1 of 2 |"));
  EXPECT_THAT(table, HasSubstr("| gemm/b | promised 1 |  |"));
}

TEST(Invariances, WhatOnlySomeCasesWerePromisedIsNotCalledPromised) {
  const InvarianceMatrix matrix =
      invariances_of({record("dispatch", {check_result("same-threads", Outcome::pass)}),
                      record("dispatch", {check_result("same-threads", Outcome::pass, std::string(kObserved))}),
                      record("dispatch", {check_result("same-threads", Outcome::pass, std::string(kObserved))})});
  EXPECT_EQ(of(matrix, "gemm/dispatch", "same-threads").word(), "partly");
  EXPECT_THAT(invariance_table(matrix), HasSubstr("| promised 1, observed 2 |"));
}

TEST(Invariances, ARefusedCaseSaysNothing) {
  Record refused = record("a", {check_result("same-run", Outcome::not_applicable, "unsupported")});
  refused.verdict = Verdict::unsupported;
  EXPECT_TRUE(invariances_of({refused}).empty());
}

}  // namespace
}  // namespace assay
