// A shape that a candidate takes 30 % longer for is found, and no other: over the real OpenBLAS, on a machine that has
// nothing else to do.
#include <gmock/gmock.h>

#include "canary_fixture.h"

namespace assay {
namespace {

using ::testing::AnyOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::Not;
using ::testing::StartsWith;

const std::string kSlow = "gemm/openblas:m=1,n=128,k=896,tb=t,dtype=f32";
const std::vector<std::string> kTwoShapes{
    "--tier",   "ci",  "--ledgers", "",
    "--filter", kSlow, "--filter",  "gemm/openblas:m=197,n=197,k=64,tb=t,alpha=0.125,dtype=f32"};

TEST_F(CanaryCli, AShapeThatIs30PercentSlowerIsRejectedOrHeldForExactlyThat) {
  std::vector<std::string> arguments = kTwoShapes;
  arguments[3] = scratch.path.string();  // a ledger of its own
  const ProgramEnd end = canary(planted("PLANT_SLOW"), arguments);
  EXPECT_THAT(end.status, AnyOf(1, 2)) << end.output;
  EXPECT_THAT(grave(), Contains(StartsWith("slower " + kSlow + " "))) << end.output;
  // Its first call is a call too.
  EXPECT_THAT(grave(), Each(AnyOf(StartsWith("slower " + kSlow + " "), "first-call " + kSlow))) << end.output;
}

TEST_F(CanaryCli, TheSameLibraryIsNotCalledSlower) {
  std::vector<std::string> arguments = kTwoShapes;
  arguments[3] = scratch.path.string();
  const ProgramEnd end = canary(edited_copy(), arguments);
  EXPECT_NE(end.status, 1) << end.output;
  EXPECT_THAT(grave(), Not(Contains(StartsWith("slower")))) << end.output;
}

}  // namespace
}  // namespace assay
