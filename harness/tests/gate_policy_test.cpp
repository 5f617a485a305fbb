// The policy files, read strictly; the files in ci/policy.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>

#include "core/error.h"
#include "gate/policy.h"
#include "gate_fakes.h"
#include "golden/file.h"
#include "scratch.h"

namespace assay {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::string kPolicy = R"(
checks = ["accuracy", "guards"]
[tiers.smoke]
seconds = 60
least_cases = 10
warm_samples = 50
cold_samples = 10
sampling_seconds = 0.1
[tiers.ci]
seconds = 900
least_cases = 20
warm_samples = 50
cold_samples = 10
sampling_seconds = 0.1
[tiers.nightly]
seconds = 9000
least_cases = 30
warm_samples = 50
cold_samples = 10
sampling_seconds = 0.1
[limits]
launch_seconds = 20
worker_bytes = 1000000
workspace_bytes = 1000
[latency]
alpha = 0.01
confidence = 0.95
screens = [4, 12]
looks = [12, 24]
spends = [0.25, 0.75]
void_share = 0.25
void_blocks = 96
tail_samples = 50
prior_freedom = 20
margin_errors = 3
[latency.p50]
least = 0.003
margin = 0.02
margin_blocks = 12
[latency.p90]
least = 0.005
margin = 0.03
margin_blocks = 12
[latency.tail]
least = 0.002
margin = 0.01
margin_blocks = 12
[latency.stall]
least = 0.002
margin = 0.02
margin_blocks = 24
[latency.samples.cpu]
warm = 200
cold = 100
seconds = 0.1
tail_seconds = 0.3
turns = 4
[latency.samples.cuda]
warm = 100
cold = 50
seconds = 0.2
tail_seconds = 0.4
turns = 2
[latency.voids.cpu]
steal = 0.15
foreign = 0.05
sentinel = 0.1
[latency.voids.cuda]
steal = 0.005
foreign = 0.05
sentinel = 0.02
[canary]
slower = 0.25
tail = 0.02
[canary.latency_seconds.cpu]
smoke = 60
ci = 600
nightly = 3600
[canary.latency_seconds.cuda]
smoke = 60
ci = 300
nightly = 3600
[[known_issue]]
kernel = "gemm/simd:*"
verdict = "wrong"
reason = "upstream"
owner = "me"
expires = 2026-02-01
[[no_kernel]]
op = "blas_*"
target = "cuda"
reason = "of CPUs"
[[not_everywhere]]
kernel = "*/f16"
reason = "few have it"
[[lighter]]
kernel = "softmax/slow*"
tier = "ci"
cases = "smoke"
reason = "seconds a case"
)";

class Files : public ::testing::Test {
 protected:
  void write(const fs::path& file, const std::string& text) const { write_text(folder / file, text); }
  std::string policy_refusal(const std::string& text) {
    write("policy.toml", text);
    return message_of([&] { read_policy(folder); });
  }
  static std::string replaced(std::string text, const std::string& what, const std::string& by) {
    const size_t at = text.find(what);
    if (at == std::string::npos) throw std::runtime_error("'" + what + "' is not in the text");
    return text.replace(at, what.size(), by);
  }
  std::string refusal_with(const std::string& what, const std::string& by) {
    return policy_refusal(replaced(kPolicy, what, by));
  }
  Scratch scratch;
  const fs::path& folder = scratch.path;
};

TEST_F(Files, PolicyReads) {
  write("policy.toml", kPolicy);
  const Policy policy = read_policy(folder);
  EXPECT_THAT(policy.checks, ElementsAre("accuracy", "guards"));
  EXPECT_EQ(policy.tiers.at(Tier::ci).seconds, 900);
  EXPECT_EQ(policy.tiers.at(Tier::smoke).least_cases, 10u);
  EXPECT_EQ(policy.worker_bytes, 1000000u);
  ASSERT_EQ(policy.known_issues.size(), 1u);
  EXPECT_EQ(policy.known_issues[0].verdict, Verdict::wrong);
  EXPECT_EQ(print_date(policy.known_issues[0].expires), "2026-02-01");
  ASSERT_EQ(policy.no_kernel.size(), 1u);
  EXPECT_EQ(policy.no_kernel[0].op, "blas_*");
  EXPECT_EQ(policy.no_kernel[0].target, "cuda");
  EXPECT_EQ(policy.no_kernel[0].reason, "of CPUs");
  ASSERT_EQ(policy.not_everywhere.size(), 1u);
  EXPECT_EQ(policy.not_everywhere[0].kernel, "*/f16");
  EXPECT_EQ(policy.not_everywhere[0].reason, "few have it");
  ASSERT_EQ(policy.lighter.size(), 1u);
  EXPECT_EQ(policy.lighter[0].kernel, "softmax/slow*");
  EXPECT_EQ(policy.lighter[0].tier, Tier::ci);
  EXPECT_EQ(policy.lighter[0].cases, Tier::smoke);
  EXPECT_EQ(policy.lighter[0].reason, "seconds a case");
}

TEST_F(Files, PolicyErrorsNameFileKeyAndRemedy) {
  const std::string file = (folder / "policy.toml").string();
  EXPECT_THAT(refusal_with("seconds = 60", "seconds = -1"),
              AllOf(HasSubstr(file), HasSubstr("tiers.smoke.seconds"), HasSubstr("above 0")));
  EXPECT_THAT(refusal_with("seconds = 60", "seconds = nan"), HasSubstr("tiers.smoke.seconds"));
  EXPECT_THAT(refusal_with("seconds = 60", "seconds = \"60\""), HasSubstr("tiers.smoke.seconds"));
  EXPECT_THAT(refusal_with("seconds = 60", "secnds = 60"),
              AllOf(HasSubstr("tiers.smoke.secnds: is not known here"), HasSubstr("did you mean 'seconds'?")));
  EXPECT_THAT(refusal_with("seconds = 60", ""), HasSubstr("tiers.smoke.seconds: is missing"));
  EXPECT_THAT(refusal_with("least_cases = 10", "least_cases = 10\nmost_cases = 5"),
              AllOf(HasSubstr("tiers.smoke.most_cases: is not known here"), HasSubstr("did you mean 'least_cases'?")));
  EXPECT_THAT(refusal_with("[tiers.nightly]", "[tiers.weekly]"), HasSubstr("tiers.weekly: is not known here"));
  EXPECT_THAT(refusal_with("least_cases = 10", "least_cases = -10"), HasSubstr("tiers.smoke.least_cases"));
  EXPECT_THAT(refusal_with("least_cases = 10", "least_cases = 1.5"), HasSubstr("integer"));
  EXPECT_THAT(refusal_with("[\"accuracy\", \"guards\"]", "[]"), HasSubstr("checks: must be"));
  EXPECT_THAT(refusal_with("[\"accuracy\", \"guards\"]", "[1]"), HasSubstr("checks: must be"));
  EXPECT_THAT(refusal_with("\"wrong\"", "\"wrng\""), AllOf(HasSubstr("known_issue[0].verdict"), HasSubstr("'wrong'?")));
  EXPECT_THAT(refusal_with("\"wrong\"", "\"error\""), HasSubstr("not a verdict that can be excused"));
  EXPECT_THAT(refusal_with("\"wrong\"", "\"pass\""), HasSubstr("not a verdict that can be excused"));
  EXPECT_THAT(refusal_with("\"gemm/simd:*\"", "\"gemm\""), HasSubstr("known_issue[0].kernel"));
  EXPECT_THAT(refusal_with("2026-02-01", "\"2026-02-01\""), HasSubstr("without quotes"));
  EXPECT_THAT(refusal_with("owner = \"me\"", ""), HasSubstr("known_issue[0].owner: is missing"));
  EXPECT_THAT(refusal_with("owner = \"me\"", "owner = \"\""), HasSubstr("known_issue[0].owner"));
  EXPECT_THAT(refusal_with("[[known_issue]]", "[known_issue]"), HasSubstr("[[known_issue]]"));
  EXPECT_THAT(refusal_with("target = \"cuda\"", "target = \"gpu\""),
              AllOf(HasSubstr("no_kernel[0].target"), HasSubstr("there are cpu and cuda")));
  EXPECT_THAT(refusal_with("reason = \"of CPUs\"", ""), HasSubstr("no_kernel[0].reason: is missing"));
  for (const char* library : {"libcudnn", "libcudnn ", " 9", "libcudnn 9.14.0 H200"}) {
    EXPECT_THAT(refusal_with("owner = \"me\"", "owner = \"me\"\nlibraries = [\"" + std::string(library) + "\"]"),
                AllOf(HasSubstr("known_issue[0].libraries"), HasSubstr("is no library and version")));
  }
  EXPECT_THAT(refusal_with("owner = \"me\"", "owner = \"me\"\nprocessor_lacks = [\"avx512bf16\"]"),
              AllOf(HasSubstr("known_issue[0].processor_lacks"), HasSubstr("'avx512bf16' is no instruction set")));
  EXPECT_THAT(policy_refusal("checks = [\"a\""), AllOf(HasSubstr(file + ":"), HasSubstr("not TOML")));
  EXPECT_THAT(policy_refusal(""), HasSubstr("checks: is missing"));
  EXPECT_THROW(read_policy(folder / "nowhere"), UsageError);
}

TEST_F(Files, TheLatencyGatesNumbersRead) {
  write("policy.toml", kPolicy);
  const std::optional<LatencyPolicy> latency = read_policy(folder).latency;
  ASSERT_TRUE(latency);
  EXPECT_EQ(latency->alpha, 0.01);
  EXPECT_EQ(latency->confidence, 0.95);
  EXPECT_THAT(latency->screens, ElementsAre(4, 12));
  EXPECT_THAT(latency->looks, ElementsAre(12, 24));
  EXPECT_THAT(latency->spends, ElementsAre(0.25, 0.75));
  EXPECT_EQ(latency->void_share, 0.25);
  EXPECT_EQ(latency->void_blocks, 96);
  EXPECT_EQ(latency->tail_samples, 50);
  EXPECT_EQ(latency->samples.at("cpu").tail_seconds, 0.3);
  EXPECT_EQ(latency->samples.at("cuda").enough, 50);
  EXPECT_EQ(latency->prior_freedom, 20);
  EXPECT_EQ(latency->margin_errors, 3);
  EXPECT_EQ(latency->changes[2].margin_blocks, 12);
  EXPECT_EQ(latency->changes[3].margin_blocks, 24);
  EXPECT_EQ(latency->changes[0].least, 0.003);
  EXPECT_EQ(latency->changes[1].margin, 0.03);
  EXPECT_EQ(latency->changes[2].margin, 0.01);
  const size_t begin = kPolicy.find("[latency]"), end = kPolicy.find("[canary]");
  write("policy.toml", kPolicy.substr(0, begin) + kPolicy.substr(end));
  EXPECT_FALSE(read_policy(folder).latency) << "a policy older than that gate";
}

TEST_F(Files, ACanarysNumbersRead) {
  write("policy.toml", kPolicy);
  const std::optional<CanaryPolicy> canary = read_policy(folder).canary;
  ASSERT_TRUE(canary);
  EXPECT_EQ(canary->slower, 0.25);
  EXPECT_EQ(canary->tail, 0.02);
  EXPECT_EQ(canary->latency_seconds.at("cpu").at(Tier::ci), 600);
  EXPECT_EQ(canary->latency_seconds.at("cuda").at(Tier::ci), 300);
  const size_t begin = kPolicy.find("[canary]"), end = kPolicy.find("[[known_issue]]");
  write("policy.toml", kPolicy.substr(0, begin) + kPolicy.substr(end));
  EXPECT_FALSE(read_policy(folder).canary) << "a policy older than canaries";
}

TEST_F(Files, ACanarysNumbersAreReadStrictly) {
  EXPECT_THAT(refusal_with("slower = 0.25", "slower = 0"), HasSubstr("canary.slower: must be a number above 0"));
  EXPECT_THAT(refusal_with("slower = 0.25", ""), HasSubstr("canary.slower: is missing"));
  EXPECT_THAT(refusal_with("tail = 0.02", "tail = 2"), HasSubstr("canary.tail: must be below 1"));
  EXPECT_THAT(refusal_with("tail = 0.02", "tails = 0.02"), HasSubstr("canary.tails: is not known here"));
  EXPECT_THAT(refusal_with("latency_seconds.cuda", "latency_seconds.tpu"),
              HasSubstr("latency_seconds.tpu: is not known"));
  EXPECT_THAT(refusal_with("ci = 600", ""), HasSubstr("canary.latency_seconds.cpu.ci: is missing"));
  EXPECT_THAT(refusal_with("ci = 600", "weekly = 600"), HasSubstr("canary.latency_seconds.cpu.weekly: is not known"));
}

TEST_F(Files, TheLatencyGatesNumbersAreReadStrictly) {
  EXPECT_THAT(refusal_with("alpha = 0.01", "alpha = 1"), HasSubstr("latency.alpha: must be below 1"));
  EXPECT_THAT(refusal_with("alpha = 0.01", "alpha = 0"), HasSubstr("latency.alpha: must be a number above 0"));
  EXPECT_THAT(refusal_with("alpha = 0.01", ""), HasSubstr("latency.alpha: is missing"));
  EXPECT_THAT(refusal_with("alpha = 0.01", "alfa = 0.01"), HasSubstr("did you mean 'alpha'?"));
  EXPECT_THAT(refusal_with("[4, 12]", "[1, 12]"),
              HasSubstr("latency.screens: must be counts of blocks that rise, from 2"));
  EXPECT_THAT(refusal_with("looks = [12, 24]", "looks = [24, 12]"),
              HasSubstr("latency.looks: must be counts of blocks"));
  EXPECT_THAT(refusal_with("looks = [12, 24]", "looks = [12, 12]"), HasSubstr("latency.looks"));
  EXPECT_THAT(refusal_with("looks = [12, 24]", "looks = [12, 24.5]"), HasSubstr("latency.looks"));
  EXPECT_THAT(refusal_with("looks = [12, 24]", "looks = [12, 257]"), HasSubstr("to 256"));
  EXPECT_THAT(refusal_with("looks = [12, 24]", "looks = []"), HasSubstr("latency.looks: must be a list of numbers"));
  EXPECT_THAT(refusal_with("looks = [12, 24]", "looks = [\"12\"]"),
              HasSubstr("latency.looks: must be a list of numbers"));
  EXPECT_THAT(refusal_with("looks = [12, 24]", "looks = [inf]"), HasSubstr("latency.looks: must be a list of numbers"));
  EXPECT_THAT(refusal_with("[0.25, 0.75]", "[0.25]"),
              HasSubstr("latency.spends: must have one share for each of `looks`"));
  EXPECT_THAT(refusal_with("[0.25, 0.75]", "[0.25, 0.7]"), HasSubstr("latency.spends: must be 1 together"));
  EXPECT_THAT(refusal_with("[0.25, 0.75]", "[-0.25, 1.25]"), HasSubstr("latency.spends: must not be negative"));
  EXPECT_THAT(refusal_with("void_share = 0.25", "void_share = 1.5"), HasSubstr("latency.void_share: must be below 1"));
  EXPECT_THAT(refusal_with("void_blocks = 96", "void_blocks = 0"), HasSubstr("latency.void_blocks"));
  EXPECT_THAT(refusal_with("tail_samples = 50", "tail_samples = 0"), HasSubstr("latency.tail_samples: must be from 1"));
  EXPECT_THAT(refusal_with("margin_blocks = 24", "margin_blocks = 0"),
              HasSubstr("latency.stall.margin_blocks: must be from 1"));
  EXPECT_THAT(refusal_with("margin = 0.02", "margin = 0.003"),
              HasSubstr("latency.p50.margin: must be more than `least`"));
  EXPECT_THAT(refusal_with("margin = 0.02", "margins = 0.02"), HasSubstr("latency.p50.margins: is not known here"));
  EXPECT_THAT(refusal_with("[latency.tail]", "[latency.p99]"), HasSubstr("latency.p99: is not known here"));
}

TEST_F(Files, LighterEntriesAreReadStrictly) {
  const std::string entry = kPolicy.substr(kPolicy.find("[[lighter]]"));
  EXPECT_THAT(refusal_with("tier = \"ci\"", "tier = \"cii\""),
              AllOf(HasSubstr("lighter[0].tier"), HasSubstr("'cii' is not one of smoke, ci, nightly")));
  EXPECT_THAT(refusal_with("cases = \"smoke\"", "cases = \"smok\""), HasSubstr("lighter[0].cases: 'smok' is not one"));
  EXPECT_THAT(refusal_with("cases = \"smoke\"", "cases = \"nightly\""),
              HasSubstr("lighter[0].cases: 'nightly' is no smaller tier than ci"));
  EXPECT_THAT(refusal_with("cases = \"smoke\"", "cases = \"ci\""), HasSubstr("'ci' is no smaller tier than ci"));
  EXPECT_THAT(refusal_with("cases = \"smoke\"", ""), HasSubstr("lighter[0].cases: is missing"));
  EXPECT_THAT(refusal_with("cases = \"smoke\"", "cases = \"smoke\"\ncase = \"a\""),
              AllOf(HasSubstr("lighter[0].case: is not known here"), HasSubstr("did you mean 'cases'?")));
  EXPECT_THAT(refusal_with("reason = \"seconds a case\"", ""), HasSubstr("lighter[0].reason: is missing"));
  EXPECT_THAT(refusal_with("\"softmax/slow*\"", "\"softmax\""), HasSubstr("lighter[0].kernel: 'softmax' is no glob"));
  EXPECT_THAT(refusal_with("\"softmax/slow*\"", "\"softmax/slow:rows=1\""), HasSubstr("is no glob over op/kernel"));
  EXPECT_THAT(policy_refusal(kPolicy + entry), HasSubstr("lighter[1].kernel: 'softmax/slow*' has an entry for ci"));
}

TEST_F(Files, ADayThatDoesNotExistIsRefused) {
  EXPECT_THAT(refusal_with("2026-02-01", "2026-02-30"), HasSubstr("policy.toml"));
}

TEST_F(Files, BenchReadsAndRefuses) {
  const OpRegistry ops = fake_ops();
  const std::string good = "[[case]]\ntiers = [\"smoke\", \"ci\"]\nworkload = \"w\"\nid = \"gemm:m=1,n=2,dtype=f32\"\n";
  write("bench.toml", good);
  const std::vector<BenchCase> bench = read_bench(folder, ops);
  ASSERT_EQ(bench.size(), 1u);
  EXPECT_EQ(bench[0].c.id(), "gemm:m=1,n=2,dtype=f32");
  const auto refusal = [&](const std::string& text) -> std::string {
    write("bench.toml", text);
    try {
      read_bench(folder, ops);
    } catch (const UsageError& e) {
      return e.what();
    }
    return "accepted";
  };
  EXPECT_THAT(refusal(replaced(good, "gemm:", "gemmm:")), HasSubstr("case[0].id: no op 'gemmm'"));
  EXPECT_THAT(refusal(replaced(good, "n=2", "q=2")), HasSubstr("case[0].id: case of gemm: no field 'q'"));
  EXPECT_THAT(refusal(replaced(good, "smoke", "smok")), HasSubstr("case[0].tiers: 'smok' is not one of"));
  EXPECT_THAT(refusal(good + good), HasSubstr("case[1].id: 'gemm:m=1,n=2,dtype=f32' is listed twice"));
  EXPECT_THAT(refusal(good + "size = 3\n"), HasSubstr("case[0].size: is not known here"));
}

TEST(Policy, ChecksThatThisBuildLacksAreMissing) {
  Policy policy;
  policy.folder = "ci/policy";
  policy.checks = {"accuracy", "acuracy", "clairvoyance"};
  EXPECT_THAT(missing_checks(policy), ElementsAre(AllOf(HasSubstr("check acuracy is gone: ci/policy/policy.toml"),
                                                        HasSubstr("did you mean 'accuracy'?")),
                                                  HasSubstr("check clairvoyance is gone: ci/policy/policy.toml")));
}

TEST(Policy, TheTreesOwnPolicyReadsAndRequiresEveryCheck) {
  const Policy policy = read_policy(ASSAY_SOURCE_DIR "/ci/policy");
  EXPECT_THAT(missing_checks(policy), IsEmpty());
  EXPECT_EQ(policy.checks.size(), check_table().size());
  EXPECT_TRUE(policy.latency);
}

// What the next version of a library gets wrong is for a person to look at.
TEST(Policy, TheTreesKnownIssuesOfLibrariesNameTheirVersions) {
  for (const KnownIssue& issue : read_policy(ASSAY_SOURCE_DIR "/ci/policy").known_issues) {
    if (issue.owner == "libraries@assay") {
      EXPECT_FALSE(issue.libraries.empty()) << issue.kernel;
    }
  }
}

// By build-id, as the goldens of the platform they were seen on have it: a wheel's files bear less of the version.
TEST(Policy, TheTreesKnownIssuesHoldWhateverALibrarysFileIsCalled) {
  std::vector<LoadedLibrary> renamed;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(ASSAY_SOURCE_DIR "/golden/observed")) {
    if (entry.path().extension() != ".txt") continue;
    for (const auto& [word, text] : read_golden_file(entry.path(), "observed").facts) {
      if (word != "library") continue;
      const size_t so = text.find(".so"), space = text.rfind(' ');
      renamed.push_back({text.substr(0, so) + ".so.0", "0", text.substr(space + 1)});
    }
  }
  // Of several entries for the same cases, one is of the libraries that were approved, others of candidates.
  std::map<std::string, std::string> why_none;
  for (const KnownIssue& issue : read_policy(ASSAY_SOURCE_DIR "/ci/policy").known_issues) {
    if (issue.libraries.empty()) continue;
    Record record;
    if (!issue.isa.empty()) record.selection["isa"] = issue.isa.front();
    const std::string why = why_another(issue, renamed, record, {{"cpu.instruction_sets", "avx2"}});
    const auto [entry, is_first] = why_none.emplace(issue.kernel, why);
    if (why.empty()) entry->second.clear();
  }
  EXPECT_FALSE(why_none.empty());
  for (const auto& [kernel, why] : why_none) EXPECT_EQ(why, "") << kernel;
}

// An issue of padded cases is that of a dense case which is asked with padding as well, and of no other failure there.
TEST(KnownIssues, OneOfACaseBesideTheRecordsOwnExcusesThatAlone) {
  const std::vector<KnownIssue> issues = {
      {"gemm/simd:*,pad_a=*", Verdict::wrong, "upstream 123", "me", day(2026, 2, 1)}};
  const auto verdict_of = [&](const std::string& of_case) {
    Record record{.kernel_id = "gemm/simd:m=2,dtype=f32", .verdict = Verdict::wrong, .reason = "accuracy: c[0]"};
    record.checks = {check_result("accuracy", Outcome::fail, "c[0]")};
    record.checks[0].of_case = of_case;
    apply_known_issues(issues, {}, {}, day(2026, 1, 1), record);
    return record.verdict;
  };
  EXPECT_EQ(verdict_of("gemm/simd:m=2,pad_a=3,dtype=f32"), Verdict::known);
  EXPECT_EQ(verdict_of("gemm/simd:m=1,dtype=f32"), Verdict::wrong);
  EXPECT_EQ(verdict_of(""), Verdict::wrong);
}

}  // namespace
}  // namespace assay
