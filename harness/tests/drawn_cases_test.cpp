// Of cases that are drawn, none is mistrusted: each has right answers that differ, or it is said why they are alike. A draw
// that proves little would leave a fuzz without a verdict, whatever the kernel did.
#include <gtest/gtest.h>

#include <iostream>
#include <random>

#include "gate/case_draw.h"
#include "oracle_problem.h"

namespace assay {
namespace {

class DrawnCases : public ::testing::TestWithParam<const Op*> {};

TEST_P(DrawnCases, AreTrusted) {
  const Op& op = *GetParam();
  const CaseDraw draws(op, op.cases(Tier::nightly), {.work = 1 << 12, .bytes = 1 << 15});
  const uint32_t seed = std::random_device()();
  std::cout << "seed " << seed << '\n';
  Draw draw(seed);
  std::vector<Case> drawn;
  for (int i = 0; i < 400; ++i) {
    if (const std::optional<Case> c = draws.fresh(draw)) drawn.push_back(*c);
  }
  EXPECT_GT(drawn.size(), 300u);
  EXPECT_EQ(testing::mistrusted(op, drawn), std::vector<std::string>{});
}

INSTANTIATE_TEST_SUITE_P(Ops, DrawnCases, ::testing::ValuesIn(testing::registry().all()),
                         [](const auto& one) { return std::string(one.param->name()); });

}  // namespace
}  // namespace assay
