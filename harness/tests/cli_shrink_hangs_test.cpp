// shrink of launches that never return, or late: most are supposed to hang long before the policy's deadline, which is
// 8 s here, and only what outlasts that too is told.
#include <gmock/gmock.h>

#include "cli_fixture.h"

namespace assay {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class ShrinkHangs : public Cli {
 protected:
  // hang_when_long, shrunk from `id`.
  ProgramEnd shrink(const std::string& id, const std::string& seconds = "60") {
    const std::string root = tree(), policy = root + "/ci/policy/policy.toml", given = "launch_seconds = 20";
    std::string text = content_of(policy);
    text.replace(text.find(given), given.size(), "launch_seconds = 8");
    write_text(policy, text);
    return assay(
        {"shrink", id, "--module", module("hang_when_long"), "--root", root, "--out", run, "--seconds", seconds});
  }
};

TEST_F(ShrinkHangs, AHangShrinksInAFewDeadlines) {
  const ProgramEnd end = shrink("reduce/bad:kind=max,outer=4,n=33,pad=3,dtype=f32");
  EXPECT_EQ(end.status, 1) << end.output;
  EXPECT_THAT(end.output, AllOf(HasSubstr("\ntimeout  launch: the worker gave no answer within 8 s"),
                                HasSubstr("1 output elements; "), Not(HasSubstr("not finished")),
                                HasSubstr(" repro 'reduce/bad:kind=max,n=7,dtype=f32,fill=zeros'")));
  EXPECT_THAT(content_of(run + "/repro.cpp"), HasSubstr("kDeadlineSeconds = 8;"));
}

TEST_F(ShrinkHangs, WhatIsSlowIsNoHang) {
  const std::string asked = "reduce/bad:kind=max,outer=4,n=33,inner=5,dtype=f32";
  const ProgramEnd end = shrink(asked);
  EXPECT_EQ(end.status, 1) << end.output;
  EXPECT_THAT(end.output, HasSubstr("\nreduce/bad:kind=max,n=4,inner=2,dtype=f32\n")) << "nothing slow was met";
  EXPECT_THAT(end.output, AllOf(HasSubstr("\ntimeout  launch: the worker gave no answer within 8 s"),
                                HasSubstr("not finished"), Not(HasSubstr(" repro 'reduce/bad:kind=max,n=4"))));
}

TEST_F(ShrinkHangs, WithoutTimeToBeSureNothingSmallerIsTold) {
  const std::string asked = "reduce/bad:kind=max,outer=4,n=33,dtype=f32";
  const ProgramEnd end = shrink(asked, "5");
  EXPECT_EQ(end.status, 1) << end.output;
  EXPECT_THAT(end.output,
              AllOf(HasSubstr("; 0 cases judged in "), HasSubstr("not finished"), HasSubstr(" repro '" + asked + "'")));
}

}  // namespace
}  // namespace assay
