// check --fuzz as a person meets it: a fault that no listed case shows is found, kept, stored and judged ever after; a
// right kernel passes; a run that was cut short goes on where it was.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli_fixture.h"
#include "core/op.h"
#include "golden/stored_cases.h"
#include "record/run_folder.h"

namespace assay {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class Fuzz : public Cli {
 protected:
  ProgramEnd fuzz(const std::string& name, const std::string& budget, std::vector<std::string> more = {}) {
    std::vector<std::string> arguments{"check", "--module", module(name), "--fuzz", budget, "--out", run};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return assay(arguments);
  }
};

bool past_an_edge(const Case& c) {
  const int64_t n = c.integer("n");
  return n > 512 && n % 64 == 1 && c.integer("inner") > 1 && c.word("kind") == "max" && c.word("dtype") == "f32";
}

TEST_F(Fuzz, FindsAFaultThatNoListedCaseShowsAndStoresIt) {
  const OpRegistry ops = make_op_registry();
  for (const Case& c : ops.named("reduce").cases(Tier::nightly)) ASSERT_FALSE(past_an_edge(c)) << c.id();

  const std::string root = tree();
  const ProgramEnd end = fuzz("wrong_past_an_edge", "200cases", {"--seed", "17", "--root", root});
  EXPECT_EQ(end.status, 1) << end.output;
  EXPECT_THAT(end.output,
              AllOf(HasSubstr("fuzz: seed 17, for 200cases\n"), HasSubstr("200 cases drawn"), HasSubstr("found, in "),
                    HasSubstr(" golden update --run '" + run + "' --root " + root + "\n")));
  for (const Record& record : read_records(run)) {
    const Case c = ops.parse_case(record.kernel_id);
    const bool may_show = past_an_edge(c) && c.integer("outer") > 0;
    EXPECT_TRUE(record.verdict == Verdict::pass || record.verdict == Verdict::unsupported || may_show)
        << record.kernel_id << ": " << record.reason;
  }

  // By nobody but a person.
  fs::remove_all(root + "/golden/cases");
  const std::vector<std::string> update{"golden", "update", "--run", run, "--root", root};
  std::vector<std::string> in_ci{kAssay};
  in_ci.insert(in_ci.end(), update.begin(), update.end());
  EXPECT_THAT(run_program(in_ci, {{"CI", "1"}}).output, HasSubstr("CI is set"));
  EXPECT_FALSE(fs::exists(fs::path(root) / "golden/cases"));

  const ProgramEnd stored = assay(update);
  EXPECT_EQ(stored.status, 0) << stored.output;
  const std::vector<StoredCase> cases = read_stored_cases(fs::path(root) / "golden/cases", ops);
  ASSERT_EQ(cases.size(), 1u);
  EXPECT_TRUE(past_an_edge(cases[0].c)) << cases[0].c.id();
  EXPECT_EQ(cases[0].c.integer("inner"), 2) << "it is made small";
  EXPECT_THAT(cases[0].why, StartsWith("reduce/bad wrong, accuracy; fuzz seed 17, drawn as reduce:"));
  EXPECT_EQ(assay({"golden", "verify", "--run", run, "--root", root}).status, 0) << "it is stored, with its truth";

  // And is judged from now on: wrong of this kernel, right of another.
  const std::string filter = "reduce:n=" + cases[0].c.word("n") + ",inner=2,dtype=f32";
  const auto checked = [&](const std::string& name, const std::string& tier) {
    return assay({"check", "--module", module(name), "--root", root, "--tier", tier, "--filter", filter, "--out",
                  (folder / (name + tier)).string()});
  };
  EXPECT_EQ(checked("wrong_past_an_edge", "ci").status, 1);
  const ProgramEnd good = checked("good", "ci");
  EXPECT_EQ(good.status, 0) << good.output;
  EXPECT_THAT(checked("good", "smoke").output, HasSubstr("matches no case of tier smoke"));
}

TEST_F(Fuzz, ARightKernelPassesAndLeavesNothing) {
  const ProgramEnd end = fuzz("good", "60cases", {"--seed", "3", "--json"});
  EXPECT_EQ(end.status, 0) << end.output;
  const nlohmann::json told = nlohmann::json::parse(end.output).at("fuzz");
  EXPECT_EQ(told.at("seed"), 3);
  EXPECT_EQ(told.at("drawn"), 60);
  EXPECT_EQ(told.at("judged").get<int>() + told.at("refused").get<int>(), 60);
  EXPECT_LT(told.at("refused"), 12);
  EXPECT_EQ(told.at("failed"), 0);
  EXPECT_EQ(told.at("found"), 0);
  EXPECT_GT(told.at("keys_beyond_listed"), 100);
  EXPECT_FALSE(fs::exists(run + "/found"));
  const assay::Run of = read_run(run);
  EXPECT_EQ(of.asked.tier, "fuzz");
  EXPECT_EQ(of.planned, 60);
  EXPECT_EQ(of.recorded, 60);
  // Nothing to do any more.
  const std::string before = content_of(run + "/records.jsonl");
  EXPECT_EQ(assay({"check", "--resume", run}).status, 0);
  EXPECT_EQ(content_of(run + "/records.jsonl"), before);
  EXPECT_THAT(assay({"golden", "update", "--run", run, "--root", tree()}).output, HasSubstr("the goldens hold"));
}

TEST_F(Fuzz, WhatWasCutShortGoesOnWithTheSameCases) {
  ASSERT_EQ(fuzz("good", "40cases").status, 0);  // a seed of its own choice
  const std::vector<Record> all = read_records(run);
  fs::resize_file(run + "/records.jsonl", fs::file_size(run + "/records.jsonl") / 2);
  assay::Run cut = read_run(run);
  cut.finished.clear();
  cut.exit_code.reset();
  RunFolder::resume(run).write_run(cut);
  const size_t kept = read_records(run).size();
  ASSERT_LT(kept, all.size());
  const ProgramEnd end = assay({"check", "--resume", run});
  EXPECT_EQ(end.status, 0) << end.output;
  const std::vector<Record> again = read_records(run);
  ASSERT_EQ(again.size(), all.size());
  for (size_t i = 0; i < all.size(); ++i) EXPECT_EQ(again[i].kernel_id, all[i].kernel_id);
}

TEST_F(Fuzz, WhatWasLostOfARunThatHadEndedIsNoPass) {
  ASSERT_EQ(fuzz("good", "20cases").status, 0);
  fs::resize_file(run + "/records.jsonl", fs::file_size(run + "/records.jsonl") / 2);
  const ProgramEnd end = assay({"check", "--resume", run});
  EXPECT_EQ(end.status, 4);
  EXPECT_THAT(end.output, HasSubstr("records of the 20 that run.json tells of; start a new run"));
}

// What was judged by a kernel that answered otherwise, say: it is told, and the draws end where they would have.
TEST_F(Fuzz, ARecordThatIsNotDrawnAgainEndsNoBudget) {
  ASSERT_EQ(fuzz("good", "20cases").status, 0);
  assay::Run cut = read_run(run);
  cut.finished.clear();
  cut.exit_code.reset();
  std::vector<Record> records = read_records(run);
  records.resize(10);
  records[3].kernel_id = "reduce/bad:kind=max,n=7,dtype=f32,seed=987654321";
  fs::remove_all(run);
  RunFolder folder = RunFolder::create(run);
  for (const Record& record : records) folder.append(record);
  folder.write_run(cut);
  { RunFolder closed = std::move(folder); }
  const ProgramEnd end = assay({"check", "--resume", run});
  EXPECT_EQ(end.status, 4) << end.output;
  EXPECT_THAT(end.output, HasSubstr("seed=987654321"));
  EXPECT_LE(read_records(run).size(), 22u);
}

TEST_F(Fuzz, ATimeIsKept) {
  const ProgramEnd end = fuzz("good", "3s");
  EXPECT_EQ(end.status, 0) << end.output;
  EXPECT_GT(read_records(run).size(), 0u) << "how many is the machine's to say";
  EXPECT_THAT(end.output, HasSubstr("for 3s"));
}

TEST_F(Fuzz, WrongUseIsOneLineAndExit4) {
  struct Wrong {
    std::vector<std::string> arguments;
    std::string says;
  };
  for (const Wrong& wrong : std::vector<Wrong>{
           {{"--fuzz", "60"}, "'60' is neither a time nor a number of cases"},
           {{"--fuzz", ""}, "--fuzz: is empty"},
           {{"--fuzz"}, "--fuzz"},
           {{"--seed", "3"}, "--seed: is of drawn cases; add --fuzz 60s"},
           {{"--fuzz", "2cases", "--seed", "-3"}, "--seed"},
           {{"--fuzz", "2cases", "--tier", "ci"}, "--fuzz: draws its own cases; leave --tier out"},
           {{"--fuzz", "2cases", "--shard", "1/2"}, "leave --shard out"},
           {{"--fuzz", "2cases", "--reseed", "1"}, "leave --reseed out"},
           {{"--fuzz", "2cases", "--filter", kCase}, "is one case, so that nothing is left to draw"},
           {{"--fuzz", "2cases", "--filter", "reduce/bda"}, "did you mean 'bad'?"},
           {{"--fuzz", "2cases", "--device", "cuda"}, "cuda"},
       }) {
    std::vector<std::string> arguments{"check", "--module", module("good"), "--out", run};
    arguments.insert(arguments.end(), wrong.arguments.begin(), wrong.arguments.end());
    const ProgramEnd end = assay(arguments);
    EXPECT_EQ(end.status, 4) << wrong.says << ": " << end.output;
    EXPECT_EQ(std::count(end.output.begin(), end.output.end(), '\n'), 1) << end.output;
    EXPECT_THAT(end.output, AllOf(HasSubstr("assay: "), HasSubstr(wrong.says)));
  }
  EXPECT_THAT(assay({"gate", "--fuzz", "60s"}).output, HasSubstr("--fuzz"));
}

// Of a filter that leaves nothing to draw nothing is known, beside another too.
TEST_F(Fuzz, NothingDrawnIsNoSuccess) {
  const std::string nothing = "reduce/bad:n=1099511627776";
  for (const std::vector<std::string>& filters :
       {std::vector<std::string>{"--filter", nothing}, {"--filter", nothing, "--filter", "reduce/bad:dtype=f32"}}) {
    const ProgramEnd end = fuzz("good", "5cases", filters);
    EXPECT_EQ(end.status, 4) << end.output;
    EXPECT_THAT(end.output, HasSubstr("filter '" + nothing + "': nothing was drawn of it"));
    fs::remove_all(run);
  }
}

TEST_F(Fuzz, AMalformedStoredCaseNamesItsFile) {
  const std::string root = tree();
  fs::create_directories(root + "/golden/cases");
  std::ofstream(root + "/golden/cases/reduce.txt")
      << "# assay cases golden, format 1\nreduce:kind=mix,n=3,dtype=f32 x\n";
  const ProgramEnd end = assay({"check", "--root", root, "--module", module("good"), "--out", run});
  EXPECT_EQ(end.status, 4);
  EXPECT_EQ(std::count(end.output.begin(), end.output.end(), '\n'), 1) << end.output;
  EXPECT_THAT(end.output, AllOf(HasSubstr("golden/cases/reduce.txt"), HasSubstr("'kind' = 'mix' is not one of")));
}

}  // namespace
}  // namespace assay
