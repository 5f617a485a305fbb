// assay fingerprint, and what a gate makes of fingerprints: real judge, workers and kernels.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "cli_fixture.h"
#include "record/fingerprint.h"

namespace assay {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const std::string kReduce = (kBuild / "modules" / "reduce_simd.so").string();

TEST_F(Cli, AFingerprintTellsHowAKernelComputes) {
  const ProgramEnd end = assay({"fingerprint", "--module", kReduce, "reduce/simd:dtype=f32", "--repeat", "3"});
  EXPECT_EQ(end.status, 0) << end.output;
  EXPECT_THAT(end.output, HasSubstr("reduce/simd:kind=sum,dtype=f32"));
  EXPECT_THAT(end.output, HasSubstr("lanes"));
  EXPECT_THAT(end.output, HasSubstr("nearest, ties to even"));
  EXPECT_THAT(end.output, HasSubstr("3 processes: the same in each"));
  EXPECT_THAT(end.output, Not(HasSubstr("dtype=f64")));
}

TEST_F(Cli, AFingerprintAsJson) {
  const ProgramEnd end = assay({"fingerprint", "--module", kReduce, "reduce/simd", "--json"});
  ASSERT_EQ(end.status, 0) << end.output;
  const auto document = nlohmann::json::parse(end.output);
  EXPECT_EQ(document.at("fingerprints").size(), 4u);
  for (const auto& one : document.at("fingerprints")) {
    EXPECT_EQ(fingerprint_from_json(one).id(), one.at("id").get<std::string>());
    EXPECT_TRUE(one.at("complete"));
  }
}

TEST_F(Cli, AKernelThatIsAnotherInEveryProcessIsNondeterministic) {
  const ProgramEnd end = assay({"fingerprint", "--module", module("sum_process_dependent"), "--repeat", "2"});
  EXPECT_EQ(end.status, 1) << end.output;
  EXPECT_THAT(end.output, HasSubstr("nondeterministic: process 2: reduce/bad:kind=sum,dtype=f32: "));
  EXPECT_THAT(end.output, HasSubstr("sequential, last to first"));
  EXPECT_THAT(end.output, HasSubstr("facts differ"));
}

TEST_F(Cli, AKernelThatFailsAtAProbeSaysSoAndTheExitCodeToo) {
  const ProgramEnd end = assay({"fingerprint", "--module", module("sum_segfault")});
  EXPECT_EQ(end.status, 1) << end.output;
  EXPECT_THAT(end.output, HasSubstr("unknown: no answer: the worker"));
  EXPECT_THAT(end.output, HasSubstr("SIGSEGV"));
  EXPECT_THAT(end.output, HasSubstr("unknown: not asked after a failure"));
}

TEST_F(Cli, AKernelOrAFlagThatIsNoneIsRefusedInOneLine) {
  const ProgramEnd unknown = assay({"fingerprint", "--module", kReduce, "reduce/smid"});
  EXPECT_EQ(unknown.status, 4);
  EXPECT_THAT(unknown.output, HasSubstr("simd"));
  const ProgramEnd none = assay({"fingerprint", "--module", kReduce, "reduce/simd:kind=max"});
  EXPECT_EQ(none.status, 4);
  EXPECT_THAT(none.output, HasSubstr("no kernel of device cpu has probes of this"));
  const ProgramEnd beside = assay({"fingerprint", "--module", kReduce, "reduce/simd", "reduce/simd:kind=max"});
  EXPECT_EQ(beside.status, 4) << "one of two is not answered";
  EXPECT_EQ(assay({"fingerprint", "--repeat", "0"}).status, 4);
  const ProgramEnd broken =
      assay({"fingerprint", "--module", kReduce, "--module", module("symbol_missing"), "reduce/simd:dtype=f32"});
  EXPECT_EQ(broken.status, 4);
  EXPECT_THAT(broken.output, HasSubstr("symbol_missing"));
}

// A tree without approved fingerprints, and gates on a module of it.
class GateFingerprint : public Cli {
 protected:
  ProgramEnd gate(const std::string& name, const std::string& out, const std::string& tier = "ci") {
    return assay({"gate", "--root", root, "--module", placed(name), "--tier", tier, "--no-report", "--json", "--filter",
                  "reduce/bad:kind=sum,n=7,dtype=f32", "--out", (folder / out).string()});
  }
  // How many, by how they compare with what was approved.
  static nlohmann::json counts(const ProgramEnd& end) {
    const auto document = nlohmann::json::parse(end.output.substr(end.output.find("{\n")), nullptr, false);
    EXPECT_FALSE(document.is_discarded()) << end.output;
    return document.is_discarded() ? document : document.at("fingerprints");
  }
  // All under one file name: libraries are told to be of a module by that.
  std::string placed(const std::string& name) {
    fs::create_directories(folder / "built");
    fs::copy_file(module(name), folder / "built" / "sum.so", fs::copy_options::overwrite_existing);
    return (folder / "built" / "sum.so").string();
  }
  std::string root = [this] {
    const std::string made = tree();
    fs::remove_all(fs::path(made) / "golden" / "fingerprint");
    return made;
  }();
};

TEST_F(GateFingerprint, IsKeptAndApprovedAndAKernelThatSumsInAnotherOrderIsAFinding) {
  const ProgramEnd first = gate("sum_in_order", "first");
  EXPECT_EQ(counts(first), (nlohmann::json{{"same", 0}, {"changed", 0}, {"no-baseline", 1}}));
  const std::vector<Fingerprint> kept = read_fingerprints(folder / "first");
  ASSERT_EQ(kept.size(), 1u);
  EXPECT_EQ(kept[0].id(), "reduce/bad:kind=sum,dtype=f32");
  ASSERT_NE(kept[0].find("shape"), nullptr);
  EXPECT_EQ(kept[0].find("shape")->value, "sequential");

  const ProgramEnd update =
      assay({"golden", "update", "--unpinned", "--root", root, "--run", (folder / "first").string()});
  ASSERT_EQ(update.status, 0) << update.output;
  const ProgramEnd second = gate("sum_in_order", "second");
  EXPECT_EQ(counts(second), (nlohmann::json{{"same", 1}, {"changed", 0}, {"no-baseline", 0}}));
  EXPECT_THAT(second.output, Not(HasSubstr("computes in another way")));

  const ProgramEnd third = gate("sum_in_turned_order", "third");
  EXPECT_THAT(third.output, HasSubstr("reduce/bad:kind=sum,dtype=f32 computes in another way than approved: shape: "
                                      "sequential -> sequential, last to first; tree: (0:127) -> "));
  EXPECT_EQ(counts(third), (nlohmann::json{{"same", 0}, {"changed", 1}, {"no-baseline", 0}}));
  EXPECT_NE(third.status, 0);
  EXPECT_EQ(read_fingerprints(folder / "third").at(0).baseline, Baseline::changed);
}

// Nothing of it is recorded as approved or as the same.
TEST_F(GateFingerprint, OfAKernelThatFailsIsNotApproved) {
  gate("sum_segfault", "failed");
  ASSERT_EQ(read_fingerprints(folder / "failed").size(), 1u);
  EXPECT_FALSE(read_fingerprints(folder / "failed")[0].complete);
  const ProgramEnd update =
      assay({"golden", "update", "--unpinned", "--root", root, "--run", (folder / "failed").string()});
  EXPECT_FALSE(fs::exists(fs::path(root) / "golden" / "fingerprint")) << update.output;
}

// The gate's own finding is not all that says so.
TEST_F(GateFingerprint, GoldensDoNotHoldWhereAnApprovedOneWasNotRead) {
  const std::string first = (folder / "first").string();
  const auto verify = [&] { return assay({"golden", "verify", "--root", root, "--run", first}); };
  gate("sum_in_order", "first");
  ASSERT_EQ(assay({"golden", "update", "--unpinned", "--root", root, "--run", first}).status, 0);
  ASSERT_EQ(verify().status, 0);
  std::vector<Fingerprint> lost = read_fingerprints(folder / "first");
  lost[0].complete = false;
  for (const auto& all : {lost, std::vector<Fingerprint>{}}) {
    write_fingerprints(folder / "first", all);
    const ProgramEnd end = verify();
    EXPECT_EQ(end.status, 1) << end.output;
    EXPECT_THAT(end.output, AllOf(HasSubstr("1 approved fingerprints were not read, such as reduce/bad:kind=sum"),
                                  Not(HasSubstr("the goldens hold"))));
  }
}

TEST_F(GateFingerprint, ASmokeGateTakesNone) {
  const ProgramEnd end = gate("sum_in_order", "smoke", "smoke");
  EXPECT_FALSE(fs::exists(folder / "smoke" / "fingerprints.jsonl"));
  EXPECT_EQ(counts(end), (nlohmann::json{{"same", 0}, {"changed", 0}, {"no-baseline", 0}}));
}

}  // namespace
}  // namespace assay
