// What a record keeps of a check that is asked several times.
#include "worker/sheet.h"

#include <gtest/gtest.h>

namespace assay {
namespace {

CheckResult failure(const std::string& detail, const std::string& of_case = "") {
  CheckResult result = check_result("accuracy", Outcome::fail, detail);
  result.of_case = of_case;
  return result;
}

CheckResult after(const std::vector<CheckResult>& results) {
  Sheet sheet;
  for (const CheckResult& result : results) sheet.set(result);
  EXPECT_EQ(sheet.record.checks.size(), 1u);
  return sheet.record.checks.front();
}

TEST(Sheet, TheFirstFailureOfACheckStays) {
  EXPECT_EQ(after({check_result("accuracy", Outcome::pass), failure("a"), failure("b")}), failure("a"));
  EXPECT_EQ(after({failure("a"), check_result("accuracy", Outcome::pass)}), failure("a"));
}

// What a policy knows of a case beside the record's excuses that case alone.
TEST(Sheet, AFailureOfAnotherCaseHidesNone) {
  EXPECT_EQ(after({failure("a", "gemm/x:m=1")}), failure("a", "gemm/x:m=1"));
  EXPECT_EQ(after({failure("a", "gemm/x:m=1"), failure("b", "gemm/x:m=1")}), failure("a", "gemm/x:m=1"));
  EXPECT_EQ(after({failure("a", "gemm/x:m=1"), failure("b")}), failure("b"));
  EXPECT_EQ(after({failure("a"), failure("b", "gemm/x:m=1")}), failure("a"));
  EXPECT_EQ(after({failure("a", "gemm/x:m=1"), failure("b", "gemm/x:m=2")}), failure("a"));
}

}  // namespace
}  // namespace assay
