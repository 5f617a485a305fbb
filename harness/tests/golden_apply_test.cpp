// golden/: observed goldens and platforms, and what goldens make of a record.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <fstream>
#include <set>

#include "core/error.h"
#include "golden/apply.h"
#include "golden/update.h"
#include "record/verdict.h"
#include "scratch.h"

namespace assay {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr uint32_t kPromised = ASSAY_SAME_RUN | ASSAY_SAME_RESTART;

std::vector<SeedStatistics> seeds(double shift = 0, size_t n = 8) {
  std::vector<SeedStatistics> all;
  for (size_t i = 0; i < n; ++i) {
    const double noise = 0.01 * static_cast<double>(i % 3);
    all.push_back({i + 1, 0.25 + noise + shift, 0.1 + noise, 0.5 + noise / 3, -1e-3 + noise});
  }
  return all;
}

Record record(const std::string& id = "gemm/simd:m=3,dtype=f32,seeds=8,place=start") {
  Record r{.kernel_id = id, .op = "gemm", .kernel = "simd", .verdict = Verdict::pass};
  r.checks = {check_result("same-run", Outcome::pass), check_result("same-restart", Outcome::pass)};
  r.seeds = seeds();
  r.output_hash = "0123456789abcdef";
  r.truth_hash = "fedcba9876543210";
  r.selection = {{"algorithm", "packed 6x16, 100% = \"all\""}, {"isa", "AVX3"}, {"reason", "n > 8"}};
  r.selection["kernel.0"] = "f<3> grid=1x1x1 block=64x1x1 registers=128 local_bytes=8 shared_bytes=49152";
  r.selection["kernel.1"] = "g grid=1x1x1 block=64x1x1 registers=20 local_bytes=0 shared_bytes=0";
  r.workspace_bytes = 4096;
  return r;
}

Platform platform() {
  return {.isa = "sse4_2 avx2 avx512f avx512bw",
          .threads = 2,
          .libraries = {{"/usr/lib/libopenblas.so.0", "0.3.21", "aa11"}, {"/lib/libm.so.6", "2.36", ""}}};
}

class NoOp : public Op {
 public:
  std::string_view name() const override { return "gemm"; }
  std::string_view summary() const override { return ""; }
  int oracle_version() const override { return 2; }
  std::vector<FieldSpec> fields() const override { return {}; }
  std::vector<Case> cases(Tier) const override { return {}; }
  std::vector<TensorSpec> own_tensors(const Case&) const override { return {}; }
  std::vector<Reference> oracle(const Case&, std::span<const TensorView>, int) const override { return {}; }
  Bounds bounds(const Case&, const Contract&, const Reference&) const override { return {}; }
  std::string cap_violation(const Contract&) const override { return ""; }
};

// A folder of goldens that hold what record() says.
class Goldens : public testing::Test {
 protected:
  Goldens() {
    char name[] = "/tmp/assay-apply-XXXXXX";
    folder_ = mkdtemp(name);
    std::vector<std::unique_ptr<Op>> ops;
    ops.push_back(std::make_unique<NoOp>());
    ops_ = std::make_unique<OpRegistry>(std::move(ops));
    const TruthFile file{2, {{"gemm:m=3,dtype=f32,seeds=8", {"fedcba9876543210", 9, 0, {"0:00"}}}}};
    apply_changes(plan_truth_update(folder_ / "truth", {{"gemm", file}}, Extent::complete), false);
    approve({record()});
  }
  ~Goldens() override { fs::remove_all(folder_); }

  void approve(const std::vector<Record>& records, Extent extent = Extent::complete) {
    apply_changes(plan_observed_update(folder_ / "observed", platform(), observed_from(records), extent), false);
  }
  TruthGoldens truth() const { return TruthGoldens::load(folder_ / "truth", *ops_); }
  ObservedGoldens observed() const { return ObservedGoldens::load(folder_ / "observed", {{"gemm/simd", platform()}}); }

  CheckResult applied(Record r, const std::string& check, uint32_t promises = kPromised) const {
    const ObservedGoldens goldens = observed();
    apply_goldens(r, truth(), &goldens, promises);
    const CheckResult* found = nullptr;
    for (const CheckResult& result : r.checks) {
      if (result.check != check) continue;
      EXPECT_EQ(found, nullptr) << "twice";
      found = &result;
    }
    EXPECT_NE(found, nullptr);
    return *found;
  }

  fs::path folder_;
  std::unique_ptr<OpRegistry> ops_;
};

TEST_F(Goldens, WhatWasApprovedPasses) {
  for (const char* check : {"truth", "golden-bits", "statistical"}) {
    EXPECT_EQ(applied(record(), check).outcome, Outcome::pass) << check;
  }
  EXPECT_EQ(*observed().find(record()).comparable(), observed_of(record()));
  EXPECT_EQ(observed_of(record()).resources.workspace, 4096u);
  EXPECT_EQ(print_kernels(observed_of(record()).resources.kernels), "128/8/49152,20/0/0");
}

TEST_F(Goldens, AnotherTruthIsAnErrorOfTheOracle) {
  Record r = record();
  r.truth_hash = "fedcba9876543211";
  const CheckResult result = applied(r, "truth");
  EXPECT_EQ(result.outcome, Outcome::fail);
  EXPECT_EQ(result.verdict, Verdict::error);
  EXPECT_THAT(result.detail, HasSubstr("fedcba9876543211, its truth golden fedcba9876543210"));
}

TEST_F(Goldens, TheWorstInputOfASweepIsApprovedWithItsBits) {
  Record r = record();
  r.worst_input = "3f9d70a4";
  EXPECT_EQ(applied(r, "golden-bits").outcome, Outcome::fail);  // none was approved
  approve({r});
  EXPECT_EQ(observed().find(r).comparable()->worst_input, "3f9d70a4");
  EXPECT_EQ(applied(r, "golden-bits").outcome, Outcome::pass);
  r.worst_input = "bf000001";
  const CheckResult moved = applied(r, "golden-bits");
  EXPECT_EQ(moved.verdict, Verdict::changed);
  EXPECT_EQ(moved.detail, "the input of the largest error was 3f9d70a4, now bf000001");
  r.output_hash = "0000000000000000";
  EXPECT_EQ(applied(r, "golden-bits").detail,
            "output hash was 0123456789abcdef, now 0000000000000000; "
            "the input of the largest error was 3f9d70a4, now bf000001");
}

TEST_F(Goldens, ChangedBitsAreChangedWhereTheyArePromised) {
  Record r = record();
  r.output_hash = "0000000000000000";
  const CheckResult result = applied(r, "golden-bits");
  EXPECT_EQ(result.outcome, Outcome::fail);
  EXPECT_EQ(result.verdict, Verdict::changed);
  EXPECT_EQ(result.detail, "output hash was 0123456789abcdef, now 0000000000000000");
  EXPECT_EQ(applied(r, "golden-bits", ASSAY_SAME_RUN).outcome, Outcome::not_applicable);
  EXPECT_EQ(applied(r, "golden-bits", ASSAY_SAME_RESTART).outcome, Outcome::not_applicable);
  r.checks[0].outcome = Outcome::not_applicable;  // the plan's own contract promises less
  EXPECT_EQ(applied(r, "golden-bits").outcome, Outcome::not_applicable);
}

TEST_F(Goldens, AnotherSelectionIsChangedWhateverIsPromised) {
  Record r = record();
  r.selection["algorithm"] = "unpacked";
  for (const uint32_t promises : {kPromised, 0u}) {
    EXPECT_EQ(applied(r, "golden-bits", promises).outcome, Outcome::fail);
  }
  EXPECT_EQ(applied(r, "golden-bits").detail, "selection: algorithm was 'packed 6x16, 100% = \"all\"', now 'unpacked'");
  r = record();
  r.selection["fallback"] = "other";
  EXPECT_EQ(applied(r, "golden-bits").detail, "selection: fallback was nothing, now 'other'");
  r = record();
  r.selection["reason"] = "worded otherwise";
  EXPECT_EQ(applied(r, "golden-bits").outcome, Outcome::pass);
}

TEST_F(Goldens, ShiftedStatisticsAreChanged) {
  Record r = record();
  r.seeds = seeds(0.2);
  const CheckResult result = applied(r, "statistical");
  EXPECT_EQ(result.outcome, Outcome::fail);
  EXPECT_EQ(result.verdict, Verdict::changed);
  EXPECT_THAT(result.detail, HasSubstr("misrounded: approved"));
  r.seeds = seeds(0, 7);
  EXPECT_EQ(applied(r, "statistical").outcome, Outcome::not_applicable);
}

TEST_F(Goldens, NothingApprovedIsNoBaselineAndNeverAPass) {
  Record r = record("gemm/simd:m=4,dtype=f32,seeds=8");
  for (const char* check : {"truth", "golden-bits", "statistical"}) {
    EXPECT_EQ(applied(r, check).outcome, Outcome::no_baseline) << check;
  }
  Record none = record();
  apply_goldens(none, truth(), nullptr, kPromised);
  EXPECT_EQ(none.checks[2].outcome, Outcome::pass);
  EXPECT_EQ(none.checks[3].outcome, Outcome::no_baseline);
  EXPECT_EQ(none.checks[4].outcome, Outcome::no_baseline);
  Record few = record();
  few.seeds = seeds(0, 3);
  approve({few});
  EXPECT_EQ(applied(record(), "statistical").outcome, Outcome::no_baseline);
}

TEST_F(Goldens, WithoutOutputThereIsNothingToCompare) {
  Record r = record();
  r.output_hash.clear();
  r.truth_hash.clear();
  for (const char* check : {"truth", "golden-bits", "statistical"}) {
    EXPECT_EQ(applied(r, check).outcome, Outcome::not_applicable) << check;
  }
}

TEST_F(Goldens, OnlyWhatPassedOrChangedIsApproved) {
  Record wrong = record("gemm/simd:m=5"), changed = record("gemm/simd:m=6"), unsupported = record("gemm/simd:m=7");
  wrong.verdict = Verdict::wrong;
  changed.verdict = Verdict::changed;
  unsupported.verdict = Verdict::unsupported;
  const std::vector<Record> records{wrong, changed, unsupported};
  const auto files = observed_from(records);
  ASSERT_EQ(files.size(), 1u);
  EXPECT_EQ(files.at("gemm").lines.size(), 1u);
  EXPECT_EQ(files.at("gemm").lines.count("gemm/simd:m=6"), 1u);
  approve({changed}, Extent::partial);
  EXPECT_EQ(observed().size(), 2u) << "what was approved before stays";
}

// What no golden can hold is refused before it is written: the record is what is damaged.
TEST_F(Goldens, ADamagedRecordIsNotApproved) {
  Record no_hash = record(), of_none = record();
  no_hash.output_hash = "zz";
  of_none.kernel_id = "foo";
  const auto refusal = [](const Record& damaged) { return message_of([&] { observed_from(std::vector{damaged}); }); };
  EXPECT_THAT(refusal(no_hash), HasSubstr("output_hash 'zz' is not 16 hexadecimal digits"));
  EXPECT_THAT(refusal(of_none), HasSubstr("kernel_id 'foo' is of another kernel or none"));
}

TEST_F(Goldens, HostileObservationsAreNamed) {
  GoldenFile file = to_golden_file(observed_from(std::vector<Record>{record()}).at("gemm"), platform());
  const std::string key = record().kernel_id;
  for (const std::string& bad : std::vector<std::string>{"bits=0123",
                                                         "bits=0123456789abcdeX",
                                                         "select.isa=AVX3",
                                                         "bits=0123456789abcdef more",
                                                         "bits=0123456789abcdef seed.1=1,2,3",
                                                         "bits=0123456789abcdef seed.1=1,2,3,4,5",
                                                         "bits=0123456789abcdef seed.x=1,2,3,4",
                                                         "bits=0123456789abcdef seed.1=1,2,3,nan",
                                                         "bits=0123456789abcdef seed.1=1,2,3,1e999",
                                                         "bits=0123456789abcdef select.isa=%4",
                                                         "bits=0123456789abcdef select.isa=%zz",
                                                         "bits=0123456789abcdef select.isa=a select.isa=b",
                                                         "bits=0123456789abcdef bits=0123456789abcdef",
                                                         "bits=0123456789abcdef workspace=-1",
                                                         "bits=0123456789abcdef workspace=1 workspace=1",
                                                         "bits=0123456789abcdef kernels=1/2",
                                                         "bits=0123456789abcdef kernels=",
                                                         "bits=0123456789abcdef kernels=1/2/3,",
                                                         "bits=0123456789abcdef kernels=1/2/-3",
                                                         "bits=0123456789abcdef kernels=1/2/3/4"}) {
    file.lines[key] = bad;
    try {
      observed_file_from(file, "f.txt");
      ADD_FAILURE() << bad;
    } catch (const UsageError& e) {
      EXPECT_THAT(e.what(), HasSubstr("f.txt: " + key + ": '" + bad + "' is not an observation;"));
    }
  }
}

TEST_F(Goldens, AFileOfAnotherPlatformOrOpIsRejected) {
  const fs::path place = folder_ / "observed" / platform().key();
  fs::copy(place / "gemm.txt", place / "softmax.txt");
  EXPECT_THROW(observed(), UsageError);
  fs::remove(place / "softmax.txt");
  Platform other = platform();
  other.threads = 3;
  fs::rename(place, folder_ / "observed" / other.key());
  EXPECT_EQ(observed().size(), 0u);
  EXPECT_THROW(ObservedGoldens::load(folder_ / "observed", {{"gemm/simd", other}}), UsageError) << "the header tells";
}

// The mark of a file that an unpinned run changed: it stands while a line of that run may, and judges nothing.
TEST_F(Goldens, LinesOfAnUnpinnedRunMarkTheirFileUntilAnotherRunHasThemAll) {
  const fs::path file = folder_ / "observed" / platform().key() / "gemm.txt";
  const auto approved = [&](const std::vector<Record>& records, Extent extent, const std::string& unpinned) {
    apply_changes(plan_observed_update(folder_ / "observed", platform(), observed_from(records), extent, unpinned),
                  false);
    return unpinned_mark(read_golden_file(file, "observed"));
  };
  const Record other = record("gemm/simd:m=4,dtype=f32,seeds=8");
  Record moved = record();
  moved.output_hash = "fedcba9876543210";
  EXPECT_EQ(approved({record()}, Extent::partial, "no pin"), "") << "repeats what a pinned run approved";
  EXPECT_EQ(approved({other}, Extent::partial, "no pin"), "no pin") << "a new line";
  EXPECT_EQ(applied(record(), "golden-bits").outcome, Outcome::pass);
  EXPECT_EQ(approved({record()}, Extent::partial, ""), "no pin") << "the new line is still there";
  EXPECT_EQ(approved({record(), other}, Extent::partial, "another"), "no pin") << "nothing new, and nothing pinned";
  EXPECT_EQ(approved({record(), other}, Extent::partial, ""), "");
  EXPECT_EQ(approved({moved}, Extent::partial, "no pin"), "no pin") << "another line";
  EXPECT_EQ(approved({record()}, Extent::complete, ""), "");
}

// A whole ci gate is not asked about the nightly tier's cases.
TEST_F(Goldens, WhatARunWasNotAskedAboutStays) {
  const Record nightly = record("gemm/simd:m=4,dtype=f32,seeds=8"), gone = record("gemm/simd:m=5,dtype=f32,seeds=8");
  Record elsewhere = record("softmax/simd:rows=4");
  elsewhere.op = "softmax";
  approve({record(), nightly, gone, elsewhere});
  const auto updated = [&](const std::set<std::string>& beyond) {
    apply_changes(
        plan_observed_update(folder_ / "observed", platform(), observed_from(std::vector{record()}), Extent::complete,
                             "", [&](const std::string& key) { return beyond.contains(key); }),
        false);
    std::set<std::string> keys;
    for (const char* op : {"gemm", "softmax"}) {
      const fs::path file = folder_ / "observed" / platform().key() / (std::string(op) + ".txt");
      if (!fs::exists(file)) continue;
      const GoldenFile read = read_golden_file(file, "observed");
      EXPECT_EQ(platform_facts(read), platform().facts()) << op;
      for (const auto& [key, unused] : read.lines) keys.insert(key);
    }
    return keys;
  };
  EXPECT_THAT(updated({nightly.kernel_id, elsewhere.kernel_id}),
              ElementsAre(record().kernel_id, nightly.kernel_id, elsewhere.kernel_id));
  EXPECT_THAT(updated({nightly.kernel_id}), ElementsAre(record().kernel_id, nightly.kernel_id));
  EXPECT_THAT(updated({}), ElementsAre(record().kernel_id));
}

TEST_F(Goldens, ALibraryThatOneKernelBeginsToUseMovesNoOther) {
  Platform with_library = platform();
  with_library.libraries.push_back({"/usr/lib/libdnnl.so.3", "3.5", "dd33"});
  Record other = record("gemm/onednn:m=3");
  other.kernel = "onednn";
  apply_changes(plan_observed_update(folder_ / "observed", with_library, observed_from(std::vector<Record>{other}),
                                     Extent::complete),
                false);
  const auto found = [&](const KernelPlatforms& platforms) {
    const ObservedGoldens goldens = ObservedGoldens::load(folder_ / "observed", platforms);
    return std::pair(goldens.find(record()).comparable() != nullptr, goldens.find(other).comparable() != nullptr);
  };
  EXPECT_EQ(found({{"gemm/simd", platform()}, {"gemm/onednn", with_library}}), std::pair(true, true));
  Platform moved = with_library;
  moved.libraries.push_back({"/usr/lib/libtbb.so", "12", "bb"});
  EXPECT_EQ(found({{"gemm/simd", platform()}, {"gemm/onednn", moved}}), std::pair(true, false));
  EXPECT_EQ(found({{"gemm/simd", with_library}, {"gemm/onednn", with_library}}), std::pair(false, true))
      << "a folder of another kernel's platform says nothing of this one";
  EXPECT_EQ(found({{"gemm/onednn", with_library}}), std::pair(false, true));
}

// Else one more line in a kernel's registration would leave it without a baseline.
TEST_F(Goldens, AKernelThatBeginsToUseALibraryIsTold) {
  const auto approved_with = [&](const Platform& now, const Platform& of_another) {
    return ObservedGoldens::load(folder_ / "observed", {{"gemm/simd", now}, {"gemm/other", of_another}})
        .approved_with();
  };
  Platform with_library = platform(), mended = platform(), moved = platform();
  with_library.libraries.push_back({"/usr/lib/libdnnl.so.3", "3.5", "dd33"});
  mended.libraries.clear();
  for (LoadedLibrary& library : moved.libraries) library.build_id = "0123";
  const std::string libraries = identity(platform().libraries.at(0));
  EXPECT_THAT(approved_with(platform(), platform()), IsEmpty());
  EXPECT_THAT(approved_with(with_library, platform()), ElementsAre(testing::Pair("gemm/simd", HasSubstr(libraries))));
  EXPECT_THAT(approved_with(mended, platform()), ElementsAre(testing::Pair("gemm/simd", HasSubstr(libraries))));
  EXPECT_THAT(approved_with(moved, moved), IsEmpty()) << "another machine's build";
  Platform newer = platform();
  newer.libraries[0] = {"/usr/lib/libopenblas.so.1", "0.3.29", "cc33"};
  EXPECT_THAT(approved_with(newer, newer), IsEmpty()) << "another machine's version";
  Platform wider = with_library, threaded = with_library;
  wider.isa += " avx512f";
  threaded.threads += 1;
  EXPECT_THAT(approved_with(wider, wider), IsEmpty());
  EXPECT_THAT(approved_with(threaded, threaded), IsEmpty());
}

// ---- libraries that were loaded after the module ----

const std::string kLate = "libengine.so.9 ee11", kSecondLate = "libheuristic.so.9 ee22";

Record with_late(std::vector<std::string> libraries, const std::string& id = record().kernel_id) {
  Record r = record(id);
  r.late_libraries = std::move(libraries);
  return r;
}

TEST_F(Goldens, BitsAreComparedWithThoseOfTheSameLateLibrariesAlone) {
  approve({with_late({kLate, kSecondLate})});
  for (Record r : {with_late({kLate, kSecondLate}), with_late({kSecondLate}), with_late({})}) {
    EXPECT_EQ(applied(r, "golden-bits").outcome, Outcome::pass);
    EXPECT_EQ(applied(r, "statistical").outcome, Outcome::pass);
    r.output_hash = "0000000000000000";
    EXPECT_EQ(applied(r, "golden-bits").outcome, Outcome::fail);
  }
  for (const std::string other : {"libengine.so.9 ee12", "libengine.so.9 version 9", "libjit.so.13 aa"}) {
    Record r = with_late({kLate, other});
    r.output_hash = "0000000000000000";
    r.seeds = seeds(0.2);
    EXPECT_EQ(observed().find(r).comparable(), nullptr);
    EXPECT_NE(observed().find(r).line, nullptr);
    for (const char* check : {"golden-bits", "statistical"}) {
      const CheckResult result = applied(r, check);
      EXPECT_EQ(result.outcome, Outcome::no_baseline) << check;
      EXPECT_EQ(result.detail, "nothing approved with " + other + ", which was loaded after the module");
    }
  }
}

TEST_F(Goldens, WhatWasApprovedWithoutLateLibrariesSaysNothingOfThem) {
  EXPECT_EQ(applied(with_late({kLate}), "golden-bits").outcome, Outcome::no_baseline);
  Record other = with_late({kLate}, "gemm/lazy:m=3");
  other.kernel = "lazy";
  approve({record(), other});
  EXPECT_EQ(applied(with_late({kLate}), "golden-bits").outcome, Outcome::no_baseline) << "another kernel's";
  EXPECT_EQ(applied(record(), "golden-bits").outcome, Outcome::pass);
}

TEST_F(Goldens, LateLibrariesOfLinesThatStayAreKept) {
  const auto late = [&] {
    std::vector<std::string> facts;
    for (const auto& [word, text] :
         read_golden_file(folder_ / "observed" / platform().key() / "gemm.txt", "observed").facts) {
      if (word == "late") facts.push_back(text);
    }
    return facts;
  };
  using testing::ElementsAre;
  approve({with_late({kLate, kSecondLate})});
  EXPECT_THAT(late(), ElementsAre("gemm/simd " + kLate, "gemm/simd " + kSecondLate));
  approve({with_late({kSecondLate}, "gemm/simd:m=6")}, Extent::partial);
  EXPECT_THAT(late(), ElementsAre("gemm/simd " + kLate, "gemm/simd " + kSecondLate));
  const std::string newer = "libengine.so.9 ee12";
  try {
    approve({with_late({newer}, "gemm/simd:m=6")}, Extent::partial);
    ADD_FAILURE() << "the other line was made by another build";
  } catch (const UsageError& e) {
    EXPECT_THAT(e.what(), HasSubstr("gemm.txt: " + record().kernel_id + " was approved without " + newer));
  }
  Record other = with_late({newer}, "gemm/lazy:m=3");
  other.kernel = "lazy";
  approve({other}, Extent::partial);
  EXPECT_THAT(late(), ElementsAre("gemm/lazy " + newer, "gemm/simd " + kLate, "gemm/simd " + kSecondLate));
  approve({with_late({newer}), with_late({newer}, "gemm/simd:m=6")}, Extent::partial);
  EXPECT_THAT(late(), ElementsAre("gemm/lazy " + newer, "gemm/simd " + newer)) << "all of its lines are new";
  approve({record()});
  EXPECT_THAT(late(), ElementsAre());
}

TEST_F(Goldens, ALateLibraryOfNobodyIsRejected) {
  for (const char* bad : {"gemm/simd", "libengine.so.9 ee11", "gemm/sim libengine.so.9 ee11", "gemm/other liba.so 1"}) {
    GoldenFile file = to_golden_file(observed_from(std::vector<Record>{record()}).at("gemm"), platform());
    file.facts.emplace_back("late", bad);
    try {
      observed_file_from(file, "f.txt");
      ADD_FAILURE() << bad;
    } catch (const UsageError& e) {
      EXPECT_THAT(e.what(), HasSubstr("f.txt: # late " + std::string(bad) + ": is no kernel with lines here"));
    }
  }
}

TEST(PlatformKey, IsOfIsaThreadsAndWhatLibrariesAre) {
  const Platform base = platform();
  EXPECT_THAT(base.key(), testing::MatchesRegex("avx512-t2-[0-9a-f]{8}"));
  Platform same = base;
  std::swap(same.libraries[0], same.libraries[1]);
  same.libraries[0].path = "/elsewhere/libm.so.6";
  same.libraries.push_back(same.libraries[0]);
  EXPECT_EQ(same.key(), base.key()) << "order, folder and repetition do not count";
  std::vector<Platform> others(5, base);
  others[0].isa = "sse4_2 avx2 avx512f";
  others[1].threads = 1;
  others[2].libraries[0].build_id = "aa12";
  others[3].libraries[1].version = "2.37";  // without a build-id the version tells
  others[4].libraries.pop_back();
  for (const Platform& other : others) EXPECT_NE(other.key(), base.key());
  EXPECT_EQ(base.facts()[2], (std::pair<std::string, std::string>{"library", "libm.so.6 version 2.36"}));
  Platform strange = base;
  strange.isa = "../NVIDIA H200";
  EXPECT_THAT(strange.key(), testing::StartsWith("___NVIDIA_H200-t2-"));
}

}  // namespace
}  // namespace assay
