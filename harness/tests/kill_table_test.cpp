// What seeded faults say of the checks, from records made up here; rates against published values.
#include "gate/kill_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "core/error.h"
#include "record/verdict.h"
#include "scratch.h"

namespace assay {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Record record(const std::string& id, Verdict verdict, const std::vector<std::string>& failed = {}) {
  Record one;
  one.kernel_id = id;
  one.verdict = verdict;
  for (const std::string& check : failed) one.checks.push_back(check_result(check, Outcome::fail, "x"));
  one.seconds = {{"launch", 0.25}, {"oracle", 0.5}};
  return one;
}

Kill kill(const std::string& id, std::set<std::string> checks) { return {id, Verdict::wrong, std::move(checks), 0}; }

SeededFault fault(const std::string& name, const std::string& family) {
  return {.name = name,
          .target = "cpu",
          .module = "gemm_simd",
          .family = family,
          .witness = "gemm/simd:m=9",
          .what = "wrong",
          .precision = family == "tf32"};
}

TEST(Kills, AreCasesThatOnlyTheFaultFails) {
  const std::vector<Record> control{record("gemm/simd:m=1", Verdict::pass),
                                    record("gemm/simd:m=2", Verdict::pass),
                                    record("gemm/simd:m=3", Verdict::wrong, {"accuracy"}),
                                    record("gemm/simd:m=4", Verdict::known, {"accuracy"}),
                                    record("gemm/simd:m=5", Verdict::unsupported),
                                    record("gemm/simd:m=6", Verdict::pass)};
  const std::vector<Record> spoilt{record("gemm/simd:m=1", Verdict::pass),
                                   record("gemm/simd:m=2", Verdict::memory, {"guards", "accuracy"}),
                                   record("gemm/simd:m=3", Verdict::wrong, {"accuracy"}),
                                   record("gemm/simd:m=4", Verdict::wrong, {"accuracy"}),
                                   record("gemm/simd:m=5", Verdict::unsupported),
                                   record("gemm/simd:m=6", Verdict::unsupported),
                                   record("gemm/simd:m=7", Verdict::crashed)};
  const std::vector<Kill> kills = kills_between(control, spoilt);
  ASSERT_EQ(kills.size(), 2u);
  EXPECT_EQ(kills[0].id, "gemm/simd:m=2");
  EXPECT_THAT(kills[0].checks, ElementsAre("accuracy", "guards"));
  EXPECT_EQ(kills[0].seconds, 0.75);
  EXPECT_EQ(kills[1].id, "gemm/simd:m=6");
  EXPECT_THAT(kills[1].checks, ElementsAre(kWithdrawn));
}

TEST(Kills, AMistrustedOrInconclusiveRecordIsNone) {
  const std::vector<Record> control{record("gemm/simd:m=1", Verdict::pass), record("gemm/simd:m=2", Verdict::pass)};
  EXPECT_THAT(kills_between(control, {record("gemm/simd:m=1", Verdict::mistrusted),
                                      record("gemm/simd:m=2", Verdict::inconclusive)}),
              IsEmpty());
}

TEST(KillTable, TellsTierSmokeWitnessAndGoldensApart) {
  const TierCases cases{{"gemm:m=1", "gemm:m=2"}, {"gemm:m=1"}};
  const std::vector<FaultTrial> trials{
      {fault("a", "dropped-tail"), {kill("gemm/simd:m=1", {"accuracy", "guards"})}},
      {fault("b", "tf32"), {kill("gemm/simd:m=2", {"golden-bits"})}},
      {fault("c", "tf32"), {kill("gemm/simd:m=9", {"accuracy"})}},  // the witness alone
      {fault("d", "race"), {}}};
  const KillTable table = tabulate(trials, cases);
  EXPECT_EQ(table.all.faults, 4);
  EXPECT_EQ(table.all.killed, 2);
  EXPECT_EQ(table.all.in_smoke, 1);
  EXPECT_EQ(table.all.without_goldens, 1);
  EXPECT_EQ(table.all.witness_only, 1);
  EXPECT_EQ(table.precision.faults, 2);
  EXPECT_EQ(table.precision.killed, 1);
  EXPECT_EQ(table.families.at("tf32").faults, 2);
  EXPECT_EQ(table.checks.at("accuracy").kills, 1);
  EXPECT_EQ(table.checks.at("accuracy").alone, 0);
  EXPECT_EQ(table.checks.at("golden-bits").alone, 1);
  EXPECT_EQ(table.checks.at("golden-bits").precision, 1);
  ASSERT_EQ(table.survivors.size(), 2u);
  EXPECT_EQ(table.survivors[0].name, "c");
  EXPECT_EQ(table.survivors[1].name, "d");
}

// SciPy: scipy.stats.beta.ppf(0.95, seen + 1, trials - seen).
TEST(KillTable, TheBoundOfARateIsClopperAndPearsons) {
  EXPECT_NEAR(upper_bound_of_rate(0, 10000), 0.00029952835977661195, 1e-12);
  EXPECT_NEAR(upper_bound_of_rate(3, 100), 0.07571079374983004, 1e-12);
  EXPECT_EQ(upper_bound_of_rate(0, 0), 1);  // nothing was seen, nothing is known
}

TEST(LeastSuite, KeepsTheKillsInTheLeastTimeAndNothingSuperfluous) {
  const std::vector<FaultTrial> trials{
      {fault("a", "race"), {kill("gemm/simd:m=1", {"accuracy"}), kill("gemm/simd:m=3", {"accuracy"})}},
      {fault("b", "race"), {kill("gemm/simd:m=1", {"accuracy"}), kill("gemm/mma:m=2", {"accuracy"})}},
      {fault("c", "race"), {kill("gemm/simd:m=2", {"accuracy"})}},
      {fault("d", "race"), {kill("gemm/simd:m=9", {"accuracy"})}}};  // not a case of the tier
  const CaseSeconds seconds{{"gemm:m=1", 1.9}, {"gemm:m=2", 1}, {"gemm:m=3", 0.8}};
  const Suite all = least_suite(trials, seconds, 1);
  EXPECT_EQ(all.kills, 3);
  EXPECT_THAT(all.cases, ElementsAre("gemm:m=2", "gemm:m=3"));
  EXPECT_DOUBLE_EQ(all.seconds, 1.8);
  EXPECT_THAT(least_suite(trials, seconds, 0.6).cases, ElementsAre("gemm:m=2"));
  EXPECT_EQ(suite_of(trials, seconds, {"gemm:m=1", "gemm:m=9"}).kills, 2);
}

TEST(SeededFaults, AListThatIsNoneIsOneLineWithTheRemedy) {
  const Scratch scratch;
  const auto says = [&] {
    try {
      read_faults(scratch.path);
    } catch (const UsageError& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  EXPECT_THAT(says(), HasSubstr("faults.json: not found; harness/tests/mutants/build.py"));
  std::ofstream(scratch.path / "faults.json") << "{\"whole\": true, \"faults\": [{\"name\": \"a\"}]}";
  EXPECT_THAT(says(), HasSubstr("faults[0].target"));
  std::ofstream(scratch.path / "faults.json") << "[1";
  EXPECT_THAT(says(), HasSubstr("build.py makes it anew"));
}

TEST(SeededFaults, AKernelIdLosesItsKernelAndNothingElse) {
  EXPECT_EQ(case_of_kernel_id("gemm/simd:m=1,out=a/b"), "gemm:m=1,out=a/b");
  EXPECT_EQ(case_of_kernel_id("gemm:m=1,out=a/b"), "gemm:m=1,out=a/b");
  EXPECT_EQ(case_of_kernel_id("gemm/simd"), "gemm");
}

}  // namespace
}  // namespace assay
