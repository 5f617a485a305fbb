// Programs that are run, and text for a shell.
#include "gate/program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace assay {
namespace {

TEST(Program, QuotedTextComesBackFromTheShell) {
  for (const std::string text : {"gemm/simd:m=1", "it's", "'", "a b; $HOME `x` \"", ""}) {
    EXPECT_EQ(run_program({"sh", "-c", "printf %s " + shell_quoted(text)}).output, text);
  }
}

TEST(Program, StatusAndOutput) {
  EXPECT_EQ(run_program({"true"}).status, 0);
  EXPECT_EQ(run_program({"sh", "-c", "echo out; echo err >&2; exit 3"}).status, 3);
  EXPECT_EQ(run_program({"sh", "-c", "echo out; echo err >&2; exit 3"}).output, "out\nerr\n");
  EXPECT_EQ(run_program({"sh", "-c", "kill -9 $$"}).status, 137);
  EXPECT_EQ(run_program({"no-such-program-here"}).status, 127);
  EXPECT_EQ(run_program({"sh", "-c", "printf $ASSAY_ADDED"}, {{"ASSAY_ADDED", "yes"}}).output, "yes");
}

}  // namespace
}  // namespace assay
