// Truths over every float against this build's oracles.
#include "truths.h"

namespace assay {
namespace {

TEST(TruthGoldensOfEveryFloat, AreWhatTheOracleSays) {
  EXPECT_EQ(truths_that_differ("bias_gelu", takes_minutes), "") << kRemedy;
}

}  // namespace
}  // namespace assay
