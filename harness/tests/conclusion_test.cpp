// What a person reads at the end of a run.
#include "cli/conclusion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace assay {
namespace {

using ::testing::HasSubstr;

std::string text_of(Comparison comparison) {
  Conclusion conclusion;
  conclusion.comparison = std::move(comparison);
  ::testing::internal::CaptureStdout();
  print_text(conclusion, false);
  return ::testing::internal::GetCapturedStdout();
}

// Blocks that count for nothing are why a gate of two minutes took fourteen.
TEST(Conclusion, ALatencyGateTellsWhatVoidedItsBlocks) {
  Comparison comparison{.blocks = 104, .seconds = 827};
  EXPECT_THAT(text_of(comparison), HasSubstr("latency: 0 cases; 104 blocks, 13 min 47 s\n"));
  comparison.result.void_blocks = {{"foreign", 20}, {"process\x1b[2J died", 3}};
  EXPECT_THAT(text_of(comparison),
              HasSubstr("; 104 blocks (void for at least one case: 20 by 'foreign', 3 by 'process"));
  EXPECT_EQ(text_of(comparison).find('\x1b'), std::string::npos) << "nothing that a terminal obeys";
}

}  // namespace
}  // namespace assay
