// golden/truth against this build's oracles: every case of any tier, of the bench and of golden/cases, and at any
// thread count the same bits.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "gate/plan.h"
#include "golden/update.h"

namespace assay {
namespace {

const std::filesystem::path kSource = ASSAY_SOURCE_DIR;
const std::filesystem::path kFolder = kSource / "golden" / "truth";

std::vector<std::string> op_names() {
  std::vector<std::string> names;
  const OpRegistry ops = make_op_registry();
  for (const auto& op : ops.all()) names.emplace_back(op->name());
  return names;
}

class Truths : public testing::TestWithParam<std::string> {};

TEST_P(Truths, AreWhatTheOraclesSay) {
  const OpRegistry ops = make_op_registry();
  const std::vector<Case> stored = without_why(read_stored_cases(kSource / "golden" / "cases", ops));
  std::vector<Case> cases = every_case(ops, read_bench(kSource / "ci" / "policy", ops), stored);
  std::erase_if(cases, [](const Case& c) { return c.op() != GetParam(); });
  EXPECT_GE(cases.size(), 100u);
  std::vector<GoldenChange> changes = plan_truth_update(kFolder, compute_truths(ops, cases, 2, {}), Extent::complete);
  std::erase_if(changes, [](const GoldenChange& change) { return change.path.stem() != GetParam(); });
  EXPECT_EQ(diff_text(changes), "")
      << "an oracle or its cases changed: if that is meant, run 'assay golden update' and review the diff";
}

INSTANTIATE_TEST_SUITE_P(Ops, Truths, testing::ValuesIn(op_names()), [](const auto& info) { return info.param; });

TEST(TruthGoldens, AreOfTheOpsThereAre) {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder)) files.push_back(entry.path().stem());
  EXPECT_THAT(files, testing::UnorderedElementsAreArray(op_names()));
}

TEST(TruthGoldens, DoNotDependOnTheNumberOfThreads) {
  const OpRegistry ops = make_op_registry();
  const TruthGoldens goldens = TruthGoldens::load(kFolder, ops);
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
