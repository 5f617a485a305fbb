// Findings of a run: what was not judged, and what is approved no longer.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "gate/findings.h"
#include "gate/goldens.h"
#include "gate/policy.h"
#include "gate_fakes.h"
#include "golden/file.h"

// A change's top level, where nobody looks at what it adds, is no place for headers.
#if __has_include(<ci/common.sh>) || !__has_include("reference/rule.h")
#error "headers are looked for in the root folder"
#endif

namespace assay {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

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
  ASSERT_EQ(judged_nothing(records, true, {}).size(), 1u);
  EXPECT_THAT(judged_nothing(records, true, {})[0].text, HasSubstr("gemm/other: all 1 cases"));
  EXPECT_THAT(judged_nothing(records, false, {}), IsEmpty());
  records[1].verdict = Verdict::unsupported;
  EXPECT_EQ(judged_nothing(records, false, {}).size(), 2u);
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

TEST(Findings, AKernelThatThisMachineCannotRunIsNoneOnlyWhereThatIsExpectedBesideAJudgedOne) {
  const std::vector<NotEverywhere> expected{{"*/other", "needs AVX512-FP16"}};
  std::vector<Record> records = refused_beside_a_judged_one("not available on this machine: needs AVX512-FP16");
  EXPECT_THAT(judged_nothing(records, true, expected), IsEmpty());
  const auto unexpected = judged_nothing(records, true, {{"*/simd", "another"}});
  ASSERT_EQ(unexpected.size(), 1u) << "its create() may just fail";
  EXPECT_EQ(unexpected[0].text,
            "gemm/other: all 2 cases are unsupported; nothing was judged: not available on this machine: needs "
            "AVX512-FP16");
  EXPECT_EQ(judged_nothing({records[1], records[2]}, true, expected).size(), 1u);
  EXPECT_EQ(judged_nothing({records[1], records[2]}, false, expected).size(), 1u);
  records[0].op = "softmax";
  EXPECT_EQ(judged_nothing(records, true, expected).size(), 1u) << "another op's";
  records[0].op = "gemm";
  records[2].reason = "odd m";  // it could run, and chose not to
  EXPECT_EQ(judged_nothing(records, true, expected).size(), 1u);
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

TEST(Findings, AKernelThatComputesWithOtherLibrariesThanItWasApprovedWithIsOne) {
  const std::vector<Record> records = refused_beside_a_judged_one("odd m");
  EXPECT_THAT(other_libraries(records, {}), IsEmpty());
  const auto found = other_libraries(records, {{"gemm/simd", "libm.so.6 0123"}, {"gemm/other", "libm.so.6 0123"}});
  ASSERT_EQ(found.size(), 1u) << "what is refused is told of elsewhere";
  EXPECT_EQ(found[0].kind, "coverage");
  EXPECT_EQ(found[0].text,
            "gemm/simd: was approved with libm.so.6 0123, and computes with other libraries now: nothing of it was "
            "compared");
}

TEST(Findings, ApprovedBitsThatArePromisedNoLongerAreOne) {
  std::vector<Record> records = refused_beside_a_judged_one("odd m");
  records[0].kernel_id = "gemm/simd:m=1";
  records[0].output_hash = "00000000000000bb";
  records[0].checks = {check_result("golden-bits", Outcome::not_applicable)};
  std::vector<KernelInfo> before{fake_kernel("gemm", "simd")};
  before[0].contract.promises = ASSAY_SAME_RUN | ASSAY_SAME_RESTART;
  const Approvals approvals = approved({"gemm/simd:m=1"});
  const auto found = no_longer_promised(records, approvals, before);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].text,
            "gemm/simd: 1 cases approved on this platform promise their bits no longer, such as gemm/simd:m=1");
  EXPECT_THAT(no_longer_promised(records, approved({}), before), IsEmpty());
  records[0].checks = {check_result("golden-bits", Outcome::pass)};
  EXPECT_THAT(no_longer_promised(records, approvals, before), IsEmpty());
  records[0].checks = {check_result("golden-bits", Outcome::not_applicable)};
  before[0].contract.promises = ASSAY_SAME_RUN;
  EXPECT_THAT(no_longer_promised(records, approvals, before), IsEmpty()) << "the base never promised them";
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

}  // namespace
}  // namespace assay
