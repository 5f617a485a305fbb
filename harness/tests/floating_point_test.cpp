#include "worker/floating_point.h"

#include <gtest/gtest.h>

namespace assay {
namespace {

volatile double zero = 0, result = 0;

TEST(FloatingPoint, AnExceptionThatWasRaisedIsNoChange) {
  const FloatingPointState before;
  result = 1 / zero;
  EXPECT_NE(std::fetestexcept(FE_DIVBYZERO), 0);
  EXPECT_EQ(before.changes(), "");
}

TEST(FloatingPoint, RoundingIsAChangeUntilItIsRestored) {
  const FloatingPointState before;
  std::fesetround(FE_DOWNWARD);
  EXPECT_NE(before.changes().find("rounding"), std::string::npos);
  before.restore();
  EXPECT_EQ(before.changes(), "");
  EXPECT_EQ(std::fegetround(), FE_TONEAREST);
}

#if defined(__x86_64__)
TEST(FloatingPoint, EachFieldIsNamed) {
  const FloatingPointState before;
  const auto named = [&](unsigned mxcsr, unsigned short x87) {
    std::fenv_t changed;
    std::fegetenv(&changed);
    changed.__mxcsr ^= mxcsr;
    changed.__control_word = static_cast<unsigned short>(changed.__control_word ^ x87);
    std::fesetenv(&changed);
    const std::string names = before.changes();
    before.restore();
    return names;
  };
  EXPECT_EQ(named(0x8000, 0), "flushing to zero");
  EXPECT_EQ(named(0x0040, 0), "taking subnormals for zero");
  EXPECT_EQ(named(0x4000, 0), "rounding");
  EXPECT_EQ(named(0x0200, 0), "trapping of exceptions");
  EXPECT_EQ(named(0, 0x0400), "rounding of the x87");
  EXPECT_EQ(named(0, 0x0100), "precision of the x87");
  EXPECT_EQ(named(0, 0x0004), "trapping of the x87's exceptions");
  EXPECT_EQ(named(0x8040, 0x0400), "flushing to zero, taking subnormals for zero, rounding of the x87");
}
#endif

}  // namespace
}  // namespace assay
