// The policy files, read strictly; the files in ci/policy; findings against a base tree.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "core/error.h"
#include "gate/base_tree.h"
#include "gate/findings.h"
#include "gate/goldens.h"
#include "gate/policy.h"
#include "gate/program.h"
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
tail_samples = 50
prior_freedom = 20
margin_errors = 3
margin_blocks = 12
[latency.p50]
least = 0.003
margin = 0.02
[latency.p90]
least = 0.005
margin = 0.03
[latency.tail]
least = 0.002
margin = 0.01
[latency.samples.cpu]
warm = 200
cold = 100
seconds = 0.1
turns = 4
[latency.samples.cuda]
warm = 100
cold = 50
seconds = 0.2
turns = 2
[latency.voids]
steal = 0.005
foreign = 0.05
sentinel = 0.02
[canary]
slower = 0.25
tail = 0.02
[canary.latency_seconds]
smoke = 60
ci = 600
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
  EXPECT_EQ(latency->tail_samples, 50);
  EXPECT_EQ(latency->prior_freedom, 20);
  EXPECT_EQ(latency->margin_errors, 3);
  EXPECT_EQ(latency->margin_blocks, 12);
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
  EXPECT_EQ(canary->latency_seconds.at(Tier::ci), 600);
  const size_t begin = kPolicy.find("[canary]"), end = kPolicy.find("[[known_issue]]");
  write("policy.toml", kPolicy.substr(0, begin) + kPolicy.substr(end));
  EXPECT_FALSE(read_policy(folder).canary) << "a policy older than canaries";
}

TEST_F(Files, ACanarysNumbersAreReadStrictly) {
  EXPECT_THAT(refusal_with("slower = 0.25", "slower = 0"), HasSubstr("canary.slower: must be a number above 0"));
  EXPECT_THAT(refusal_with("slower = 0.25", ""), HasSubstr("canary.slower: is missing"));
  EXPECT_THAT(refusal_with("tail = 0.02", "tail = 2"), HasSubstr("canary.tail: must be below 1"));
  EXPECT_THAT(refusal_with("tail = 0.02", "tails = 0.02"), HasSubstr("canary.tails: is not known here"));
  EXPECT_THAT(refusal_with("ci = 600", ""), HasSubstr("canary.latency_seconds.ci: is missing"));
  EXPECT_THAT(refusal_with("ci = 600", "weekly = 600"), HasSubstr("canary.latency_seconds.weekly: is not known here"));
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
  EXPECT_THAT(refusal_with("tail_samples = 50", "tail_samples = 0"), HasSubstr("latency.tail_samples: must be from 1"));
  EXPECT_THAT(refusal_with("margin_blocks = 12", "margin_blocks = 0"),
              HasSubstr("latency.margin_blocks: must be from 1"));
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

TEST(Findings, AnOpWithKernelsOfAnotherDeviceAloneWasNotJudged) {
  const OpRegistry ops = fake_ops();
  std::vector<KernelInfo> kernels = fake_kernels();
  kernels[0].target = "cuda";  // gemm/simd; gemm/openblas stays
  EXPECT_THAT(ops_left_out(make_plan(ops, kernels, {}, {}), "cpu", {}), IsEmpty());
  kernels[1].target = "cuda";
  const std::vector<Finding> findings = ops_left_out(make_plan(ops, kernels, {}, {}), "cpu", {});
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_THAT(findings[0].text, HasSubstr("op gemm: no kernel of target cpu"));
  const auto expecting = [&](const NoKernel& none) {
    return ops_left_out(make_plan(ops, kernels, {}, {}), "cpu", {none}).size();
  };
  EXPECT_EQ(expecting({"gem*", "cpu", "r"}), 0u);
  EXPECT_EQ(expecting({"gemm_int8", "cpu", "r"}), 1u);
  EXPECT_EQ(expecting({"gemm", "cuda", "r"}), 1u);
}

TEST(Findings, ExpiredIssuesAndTooFewCases) {
  Policy policy;
  policy.known_issues = {{"gemm/simd:*", Verdict::wrong, "r", "o", day(2026, 1, 1)},
                         {"gemm/new:*", Verdict::wrong, "r", "o", day(2026, 1, 9)}};
  policy.tiers[Tier::smoke].least_cases = 10;
  ASSERT_EQ(expired_known_issues(policy, day(2026, 1, 2)).size(), 1u);
  EXPECT_THAT(expired_known_issues(policy, day(2026, 1, 2))[0].text, HasSubstr("gemm/simd:*"));
  EXPECT_THAT(expired_known_issues(policy, day(2026, 1, 1)), IsEmpty());
  EXPECT_EQ(too_few_cases(policy, Tier::smoke, 9).size(), 1u);
  EXPECT_THAT(too_few_cases(policy, Tier::smoke, 10), IsEmpty());
}

TEST(Findings, KernelsThatRefusedEverything) {
  std::vector<Record> records(3);
  records[0].op = records[1].op = records[2].op = "gemm";
  records[0].kernel = records[1].kernel = "simd";
  records[2].kernel = "other";
  records[0].verdict = records[2].verdict = Verdict::unsupported;
  ASSERT_EQ(judged_nothing(records, true).size(), 1u);
  EXPECT_THAT(judged_nothing(records, true)[0].text, HasSubstr("gemm/other: all 1 cases"));
  EXPECT_THAT(judged_nothing(records, false), IsEmpty());
  records[1].verdict = Verdict::unsupported;
  EXPECT_EQ(judged_nothing(records, false).size(), 2u);
}

// gemm/simd is judged; gemm/other refuses its two cases for `reason`.
std::vector<Record> refused_beside_a_judged_one(const std::string& reason) {
  std::vector<Record> records(3);
  for (Record& record : records) record.op = "gemm";
  records[0].kernel = "simd";
  for (const size_t i : {1, 2}) {
    records[i].kernel = "other";
    records[i].kernel_id = "gemm/other:m=" + std::to_string(i);
    records[i].verdict = Verdict::unsupported;
    records[i].reason = reason;
  }
  return records;
}

TEST(Findings, AKernelThatThisMachineCannotRunIsOneOnlyWhereNothingElseOfItsOpIsJudged) {
  std::vector<Record> records = refused_beside_a_judged_one("not available on this machine: needs AVX512-FP16");
  EXPECT_THAT(judged_nothing(records, true), IsEmpty());
  EXPECT_EQ(judged_nothing({records[1], records[2]}, true).size(), 1u);
  EXPECT_EQ(judged_nothing({records[1], records[2]}, false).size(), 1u);
  records[0].op = "softmax";
  EXPECT_EQ(judged_nothing(records, true).size(), 1u) << "another op's";
  records[0].op = "gemm";
  records[2].reason = "odd m";  // it could run, and chose not to
  EXPECT_EQ(judged_nothing(records, true).size(), 1u);
}

// What is approved: these cases, and without `new_library`.
Approvals approved(std::set<std::string> ids, const std::string& new_library = "") {
  static const Observed kObserved;
  return [ids = std::move(ids), new_library](const Record& record) {
    return ids.contains(record.kernel_id) ? Approval{&kObserved, new_library} : Approval{};
  };
}

TEST(Findings, ACaseApprovedHereAndRefusedNowIsOneWhateverTheReason) {
  for (const char* reason : {"odd m", "not available on this machine: needs AVX512-FP16"}) {
    const std::vector<Record> records = refused_beside_a_judged_one(reason);
    EXPECT_THAT(no_longer_judged(records, approved({})), IsEmpty());
    EXPECT_THAT(no_longer_judged(records, approved({""})), IsEmpty()) << "gemm/simd is judged still";
    const std::string one = no_longer_judged(records, approved({"gemm/other:m=2"})).at(0).text;
    EXPECT_EQ(one, "gemm/other: 1 cases approved on this platform are unsupported now, such as gemm/other:m=2: " +
                       std::string(reason));
    for (const char* library : {"", "libz.so.1 0123"}) {
      const auto both = no_longer_judged(records, approved({"gemm/other:m=1", "gemm/other:m=2"}, library));
      ASSERT_EQ(both.size(), 1u);
      EXPECT_EQ(both[0].kind, "coverage");
      EXPECT_THAT(both[0].text, HasSubstr("gemm/other: 2 cases"));
    }
  }
}

TEST(Findings, ACaseApprovedHereAndNotComparedForALibraryLoadedLateIsOne) {
  std::vector<Record> records = refused_beside_a_judged_one("odd m");
  records[0].kernel_id = "gemm/simd:m=1";
  EXPECT_THAT(no_longer_compared(records, approved({"gemm/simd:m=1"})), IsEmpty());
  EXPECT_THAT(no_longer_compared(records, approved({}, "libz.so.1 0123")), IsEmpty());
  const auto found = no_longer_compared(records, approved({"gemm/simd:m=1", "gemm/other:m=1"}, "libz.so.1 0123"));
  ASSERT_EQ(found.size(), 1u) << "what is refused is told of elsewhere";
  EXPECT_EQ(found[0].kind, "coverage");
  EXPECT_EQ(found[0].text,
            "gemm/simd: 1 cases approved on this platform were not compared with that, such as gemm/simd:m=1: "
            "nothing approved with libz.so.1 0123, which was loaded after the module");
}

TEST(ComputingLibraries, AreThoseTheModulesOwnProcessesMapped) {
  const std::vector<LoadedLibrary> loaded{{"/lib/libc.so.6", "", "a", {"gemm_blas.so", "gemm_simd.so"}},
                                          {"/lib/libm.so.6", "", "b", {"gemm_blas.so", "gemm_simd.so"}},
                                          {"/lib/libopenblas.so.0", "", "c", {"gemm_blas.so"}},
                                          {"/lib/libdnnl.so.3", "", "d", {"gemm_onednn.so"}},
                                          {"/lib/libtimed.so", "", "e", {}},
                                          {"/build/modules/gemm_blas.so", "", "f", {"gemm_blas.so"}}};
  const auto names = [&](const char* module) {
    std::vector<std::string> all;
    for (const LoadedLibrary& library : computing_libraries(loaded, module)) {
      all.push_back(fs::path(library.path).filename());
    }
    return all;
  };
  EXPECT_THAT(names("gemm_blas.so"), ElementsAre("libm.so.6", "libopenblas.so.0"));
  EXPECT_THAT(names("gemm_simd.so"), ElementsAre("libm.so.6"));
}

TEST(Findings, RemovedNames) {
  const std::vector<Finding> findings = removed("kernel", {"gemm/simd", "gemm/openblas"}, {"gemm/simd", "gemm/new"});
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].kind, "removed");
  EXPECT_EQ(findings[0].text, "kernel gemm/openblas is gone");
}

TEST(Findings, EveryTiersCasesAndTheBenchCount) {
  const OpRegistry ops = fake_ops();
  std::vector<std::string> now;
  for (const Case& c : every_case(ops, {{{Tier::ci}, "w", ops.parse_case("gemm:m=64,n=1,dtype=f32")}}, {})) {
    now.push_back(c.id());
  }
  EXPECT_THAT(removed("case", {"gemm:m=64,n=1,dtype=f32", "gemm:m=3,n=3,dtype=bf16,seed=3"}, now), IsEmpty());
  EXPECT_EQ(removed("case", {"gemm:m=65,n=1,dtype=f32"}, now).size(), 1u);
}

TEST_F(Files, AnEditedHarnessIsOneFindingThatSaysWhoJudged) {
  for (const char* tree : {"base", "change"}) {
    write(std::string(tree) + "/harness/check/accuracy.cpp", "same");
    write(std::string(tree) + "/harness/core/include/assay/abi.h", "#define ASSAY_ABI_VERSION 1\n");
    write(std::string(tree) + "/reference/CMakeLists.txt", "assay_op(gemm)\nassay_op(softmax)\n");
  }
  write("base/harness/tests/a_test.cpp", "old");
  write("base/harness/README.md", "old");
  const auto found = [&](const char* judging) {
    std::string text;
    for (const Finding& finding : edited_harness(folder / "base", folder / "change", folder / judging)) {
      text += finding.kind + ": " + finding.text + "\n";
    }
    return text;
  };
  EXPECT_EQ(found("change"), "") << "tests and pages judge nothing";
  write("change/harness/check/accuracy.cpp", "laxer");
  write("change/reference/gemm/cases.cpp", "new");
  const std::string two =
      "harness: 2 files differ from the base (harness/check/accuracy.cpp, reference/gemm/cases.cpp); ";
  EXPECT_EQ(found("base"), two + "judged by the base's harness\n");
  EXPECT_EQ(found("change"), two + "judged by the change's own harness\n");
  EXPECT_EQ(why_not_by_base(folder / "base", folder / "change"), "");
  write("change/reference/CMakeLists.txt", "assay_op(softmax)\nassay_op(gemm)\n");
  EXPECT_EQ(why_not_by_base(folder / "base", folder / "change"), "") << "order does not matter";
  write("change/reference/CMakeLists.txt", "assay_op(gemm)\nassay_op(softmax)\nassay_op(conv)\n");
  EXPECT_THAT(found("change"), HasSubstr("the change's own harness: it has other ops\n"));
  write("change/harness/core/include/assay/abi.h", "#define ASSAY_ABI_VERSION 2\n");
  EXPECT_THAT(found("change"), HasSubstr("the change's own harness: it has another version of the module ABI\n"));
  for (int i = 0; i < 7; ++i) write("change/harness/check/more" + std::to_string(i) + ".cpp", "new");
  EXPECT_THAT(found("change"), HasSubstr("11 files differ"));
  EXPECT_THAT(found("change"), HasSubstr("more3.cpp, ...)"));
}

TEST_F(Files, EditsToWhatJudgesAreFindings) {
  write("base/ci/policy/policy.toml", "a\nb\n");
  write("base/golden/truth/gemm.txt", "1\n2\n");
  write("base/golden/truth/softmax.txt", "1\n");
  write("base/kernels/simd.cpp", "old");
  fs::copy(folder / "base", folder / "change", fs::copy_options::recursive);
  EXPECT_THAT(edited_files(folder / "base", folder / "change"), IsEmpty());
  write("change/ci/policy/policy.toml", "a\nc\nd\n");
  write("change/golden/truth/new.txt", "1\n");
  write("change/kernels/simd.cpp", "new");
  fs::remove(folder / "change/golden/truth/softmax.txt");
  std::vector<std::string> lines;
  for (const Finding& finding : edited_files(folder / "base", folder / "change")) {
    lines.push_back(finding.kind + ": " + finding.text);
  }
  EXPECT_THAT(lines, ElementsAre("policy: ci/policy/policy.toml is edited: 2 lines added, 1 removed",
                                 "golden: golden/truth/new.txt is new", "golden: golden/truth/softmax.txt is removed"));
}

TEST_F(Files, RegistrationsAreReadFromTheLists) {
  write("kernels/CMakeLists.txt",
        "# assay_kernel(gemm comment.cpp)\nmacro(assay_kernel op file)\n  assay_kernel(gemm simd.cpp LIBS hwy)\n"
        "assay_kernel(softmax warp_row.cu)\n");
  write("reference/CMakeLists.txt", "assay_op(gemm)\n#assay_op(none)\n");
  EXPECT_THAT(registered_kernels(folder), ElementsAre("gemm/simd", "softmax/warp_row"));
  EXPECT_THAT(registered_ops(folder), ElementsAre("gemm"));
  EXPECT_THAT(registered_ops(folder / "nowhere"), IsEmpty());
}

TEST_F(Files, BaseRefReadsTheCommittedTreeAndLeavesNothing) {
  const std::string repository = (folder / "repo").string();
  write("repo/ci/policy/policy.toml", "committed");
  const auto git = [&](std::vector<std::string> arguments) {
    std::vector<std::string> command{"git", "-C", repository, "-c", "user.name=a", "-c", "user.email=a@example.org"};
    command.insert(command.end(), arguments.begin(), arguments.end());
    const ProgramEnd end = run_program(command);
    ASSERT_EQ(end.status, 0) << end.output;
  };
  git({"init", "-q"});
  git({"add", "."});
  git({"commit", "-q", "-m", "base"});
  write("repo/ci/policy/policy.toml", "edited");
  fs::path tree;
  {
    const BaseTree base = BaseTree::ref(repository, "HEAD");
    tree = base.path();
    EXPECT_EQ(edited_files(tree, repository).size(), 1u);
  }
  EXPECT_FALSE(fs::exists(tree));
  EXPECT_THROW(BaseTree::ref(repository, "no-such-ref"), UsageError);
  EXPECT_THROW(BaseTree::ref(repository, "--output=/tmp/x"), UsageError);
  EXPECT_THROW(BaseTree::folder(folder / "nowhere"), UsageError);
}

TEST(Program, QuotedTextComesBackFromTheShell) {
  for (const std::string text : {"gemm/simd:m=1", "it's", "'", "a b; $HOME `x` \"", ""}) {
    EXPECT_EQ(run_program({"sh", "-c", "printf %s " + shell_quoted(text)}).output, text);
  }
}

TEST(Program, StatusAndOutput) {
  EXPECT_EQ(run_program({"true"}).status, 0);
  EXPECT_EQ(run_program({"sh", "-c", "echo out; echo err >&2; exit 3"}).status, 3);
  EXPECT_EQ(run_program({"sh", "-c", "echo out; echo err >&2; exit 3"}).output, "out\nerr\n");
  EXPECT_EQ(run_program({"sh", "-c", "kill -9 $$"}).status, 137);
  EXPECT_EQ(run_program({"no-such-program-here"}).status, 127);
  EXPECT_EQ(run_program({"sh", "-c", "printf $ASSAY_ADDED"}, {{"ASSAY_ADDED", "yes"}}).output, "yes");
}

}  // namespace
}  // namespace assay
