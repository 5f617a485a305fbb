// golden/truth against this build's oracles: every case of any tier, of the bench and of golden/cases, and at any
// thread count the same bits.
#include <gtest/gtest.h>

#include <filesystem>

#include "gate/plan.h"
#include "golden/update.h"

namespace assay {
namespace {

const std::filesystem::path kSource = ASSAY_SOURCE_DIR;
const std::filesystem::path kFolder = kSource / "golden" / "truth";

TEST(TruthGoldens, AreWhatTheOraclesSay) {
  const OpRegistry ops = make_op_registry();
  const std::vector<Case> stored = without_why(read_stored_cases(kSource / "golden" / "cases", ops));
  const auto computed = compute_truths(ops, every_case(ops, read_bench(kSource / "ci" / "policy", ops), stored), 2, {});
  ASSERT_FALSE(computed.empty());
  for (const auto& [op, file] : computed) EXPECT_GE(file.cases.size(), 100u) << op;
  EXPECT_EQ(diff_text(plan_truth_update(kFolder, computed, Extent::complete)), "")
      << "an oracle or its cases changed: if that is meant, run 'assay golden update' and review the diff";
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
