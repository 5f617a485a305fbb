// assay sweep: real judge, workers and kernels.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "cli_fixture.h"
#include "gate/sweep.h"

namespace assay {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// The id of the first failure that a sweep printed.
std::string first_failure(const std::string& output) {
  const size_t begin = output.find("repro '") + 7;
  return output.substr(begin, output.find('\'', begin) - begin);
}

TEST_F(Cli, ASweepVerifiesDistinctShapes) {
  const ProgramEnd end = assay({"sweep", "--module", module("product_right"), "gemm/*", "--shapes", "100"});
  EXPECT_EQ(end.status, 0) << end.output;
  EXPECT_THAT(end.output, HasSubstr("gemm/bad  100 distinct shapes verified in "));
  EXPECT_THAT(end.output, HasSubstr("; 0 failed"));
  EXPECT_THAT(end.output, HasSubstr("draws that the contract does not claim were not asked"));
  EXPECT_THAT(end.output, Not(HasSubstr("not verified")));
}

// One bit, in all outputs of more than 1000 elements; the line that is printed shows it again.
TEST_F(Cli, ASweepFindsAFlippedBitAndItsIdReplaysIt) {
  const ProgramEnd end =
      assay({"sweep", "--module", module("product_flipped_early"), "gemm/bad", "--shapes", "40", "--jobs", "2"});
  EXPECT_EQ(end.status, 1) << end.output;
  EXPECT_THAT(end.output, HasSubstr("wrong  accuracy: c[1000] got "));
  EXPECT_THAT(end.output, HasSubstr("Freivalds modulo 2^61 - 1"));
  const std::string id = first_failure(end.output);
  const ProgramEnd replayed = check("product_flipped_early", id);
  EXPECT_EQ(replayed.status, 1) << id << "\n" << replayed.output;
  EXPECT_THAT(replayed.output, HasSubstr("c[1000] got "));
}

TEST_F(Cli, ASweepDoesNotFailForWhatThePolicyLists) {
  const std::string root = tree();
  std::ofstream(root + "/ci/policy/policy.toml", std::ios::app)
      << "[[known_issue]]\nkernel = \"gemm/bad:*\"\nverdict = \"wrong\"\nreason = \"upstream 123\"\nowner = \"me\"\n"
         "expires = 2999-01-01\n";
  const ProgramEnd end = assay({"sweep", "--module", module("product_flipped_early"), "gemm/bad", "--shapes", "40",
                                "--jobs", "2", "--root", root});
  EXPECT_EQ(end.status, 0) << end.output;
  EXPECT_THAT(end.output, HasSubstr("; 0 failed"));
  EXPECT_THAT(end.output,
              HasSubstr("failed, which is known: wrong, known until 2999-01-01 (me): upstream 123; accuracy"));
}

TEST_F(Cli, ACrashCostsItsShapeAlone) {
  const ProgramEnd end =
      assay({"sweep", "--module", module("product_traps"), "gemm/bad", "--shapes", "40", "--json", "--seed", "2"});
  EXPECT_EQ(end.status, 1) << end.output;
  const Sweep sweep = sweep_from_json(nlohmann::json::parse(end.output).at("sweeps").at(0));
  EXPECT_GE(sweep.verified, 40);
  ASSERT_FALSE(sweep.failures.empty());
  for (const SweepFailure& failure : sweep.failures) {
    EXPECT_EQ(failure.verdict, Verdict::crashed) << failure.reason;
    EXPECT_THAT(failure.reason, HasSubstr("SIGILL"));
  }
}

TEST_F(Cli, SeveralJobsVerifyAsManyShapesAsOne) {
  const auto verified = [&](const char* jobs) {
    const ProgramEnd end =
        assay({"sweep", "--module", module("product_right"), "gemm/bad", "--shapes", "64", "--json", "--jobs", jobs});
    EXPECT_EQ(end.status, 0) << end.output;
    return sweep_from_json(nlohmann::json::parse(end.output).at("sweeps").at(0)).verified;
  };
  EXPECT_EQ(verified("1"), 64);
  EXPECT_EQ(verified("2"), 64);
}

TEST_F(Cli, SeveralJobsEndWithTheirSweep) {
  const std::string sweep =
      kAssay + " sweep --module " + module("product_right") + " gemm/bad --seconds 600 --json --jobs 2";
  const ProgramEnd end = run_program({"timeout", "--signal=KILL", "60", "sh", "-c",
                                      sweep + " & pid=$!; sleep 2; kill -TERM $pid; wait $pid; exit $?"});
  EXPECT_EQ(end.status, 128 + SIGTERM) << end.output;
}

TEST_F(Cli, ASweepOfNothingIsRefusedInOneLine) {
  const std::string right = module("product_right");
  const ProgramEnd other = assay({"sweep", "--module", module("good"), "reduce/bad"});
  EXPECT_EQ(other.status, 4);
  EXPECT_THAT(other.output, HasSubstr("multiplies matrices"));
  EXPECT_THAT(assay({"sweep", "--module", right, "gemm/bda"}).output, HasSubstr("bad"));
  for (const std::vector<std::string>& wrong : {std::vector<std::string>{"--shapes", "0"},
                                                {"--seconds", "-1"},
                                                {"--jobs", "0"},
                                                {"--shard", "3/2"},
                                                {"--jobs", "2", "--shard", "1/2"}}) {
    std::vector<std::string> arguments{"sweep", "--module", right, "gemm/bad"};
    arguments.insert(arguments.end(), wrong.begin(), wrong.end());
    const ProgramEnd end = assay(arguments);
    EXPECT_EQ(end.status, 4) << wrong[0] << end.output;
  }
  EXPECT_EQ(assay({"sweep", "--module", right}).status, 4);

  const ProgramEnd fields = assay({"sweep", "--module", right, "gemm/bad:m=3", "--shapes", "1"});
  EXPECT_EQ(fields.status, 4) << "every shape would be drawn";
  EXPECT_THAT(fields.output, HasSubstr("has fields"));
  const ProgramEnd beside =
      assay({"sweep", "--module", right, "--module", module("good"), "gemm/bad", "reduce/bad", "--shapes", "1"});
  EXPECT_EQ(beside.status, 4) << "one of two is not swept";
  EXPECT_THAT(beside.output, HasSubstr("'reduce/bad'"));
}

TEST_F(Cli, ASweepWithoutAModuleThatCannotBeLoadedIsNoSuccess) {
  const ProgramEnd end = assay(
      {"sweep", "--module", module("product_right"), "--module", module("symbol_missing"), "gemm/*", "--shapes", "1"});
  EXPECT_EQ(end.status, 4) << end.output;
  EXPECT_THAT(end.output, AllOf(HasSubstr("symbol_missing"), HasSubstr("distinct shapes verified")));
}

}  // namespace
}  // namespace assay
