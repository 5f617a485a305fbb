// golden/truth against this build's oracles: every case of any tier, of the bench and of golden/cases, but for those of
// truth_goldens_slow_test.cpp, and at any thread count the same bits.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "truths.h"

namespace assay {
namespace {

std::vector<std::string> op_names() {
  std::vector<std::string> names;
  const OpRegistry ops = make_op_registry();
  for (const auto& op : ops.all()) names.emplace_back(op->name());
  return names;
}

class Truths : public testing::TestWithParam<std::string> {};

TEST_P(Truths, AreWhatTheOraclesSay) {
  EXPECT_EQ(truths_that_differ(GetParam(), [](const Case& c) { return !takes_minutes(c); }), "") << kRemedy;
}

INSTANTIATE_TEST_SUITE_P(Ops, Truths, testing::ValuesIn(op_names()), [](const auto& info) { return info.param; });

TEST(TruthGoldens, AreOfTheOpsThereAre) {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(kTruths)) files.push_back(entry.path().stem());
  EXPECT_THAT(files, testing::UnorderedElementsAreArray(op_names()));
}

TEST(TruthGoldens, DoNotDependOnTheNumberOfThreads) {
  const OpRegistry ops = make_op_registry();
  const TruthGoldens goldens = TruthGoldens::load(kTruths, ops);
  int64_t cases = 0;
  for (const auto& op : ops.all()) {
    for (const Case& c : op->cases(Tier::smoke)) {
      const TruthGoldens::Found found = goldens.find(c.id());
      ASSERT_NE(found.truth, nullptr) << c.id() << ": " << found.absent;
      EXPECT_EQ(compute_truth(*op, c, 5), *found.truth) << c.id();
      ++cases;
    }
  }
  EXPECT_GT(cases, 100);
}

}  // namespace
}  // namespace assay
