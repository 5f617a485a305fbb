// Stored cases: the file and what it refuses, the plans that hold them, and how failures become such cases.
#include "golden/stored_cases.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gate/found.h"
#include "gate_fakes.h"
#include "golden/update.h"
#include "scratch.h"

namespace assay {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Pair;
using ::testing::StartsWith;

const std::string kHeading = "# assay cases golden, format 1\n";
const std::string kId = "gemm:m=5,n=7,dtype=f32,seed=9";

class Stored : public ::testing::Test {
 protected:
  std::string refusal_of(const std::string& text) {
    write_text(folder.path / "gemm.txt", text);
    return message_of([&] { read_stored_cases(folder.path, ops); });
  }

  Scratch folder;
  const OpRegistry ops = fake_ops();
};

TEST_F(Stored, ReadsBackWhatIsWritten) {
  const std::string other = "gemm:m=70000,n=1,dtype=bf16";
  for (const GoldenChange& change : plan_cases_update(
           folder.path, {{kId, "gemm/simd wrong,\naccuracy"}, {other, ""}, {"softmax:m=1,n=1,dtype=f32", "s"}})) {
    write_golden_file(change.path, change.after);
  }
  EXPECT_EQ(content_of(folder.path / "cases" / "gemm.txt"),
            kHeading + kId + " gemm/simd wrong,?accuracy\n" + other + " ?\n");
  const std::vector<StoredCase> stored = read_stored_cases(folder.path / "cases", ops);
  ASSERT_EQ(stored.size(), 3u);
  EXPECT_EQ(stored[0].c.id(), kId);
  EXPECT_EQ(stored[0].why, "gemm/simd wrong,?accuracy");
  EXPECT_EQ(stored[2].c.op(), "softmax");
  EXPECT_TRUE(read_stored_cases(folder.path / "none", ops).empty());
  // Another run adds; what is there stays.
  for (const GoldenChange& change : plan_cases_update(folder.path, {{"gemm:m=2,n=2,dtype=f32", "t"}})) {
    write_golden_file(change.path, change.after);
  }
  EXPECT_EQ(read_stored_cases(folder.path / "cases", ops).size(), 4u);
}

TEST_F(Stored, RefusesGarbageByFileAndLineOrCase) {
  const std::string file = (folder.path / "gemm.txt").string();
  EXPECT_THAT(refusal_of(""), StartsWith(file + ":1: "));
  EXPECT_THAT(refusal_of("gemm:m=1\n"), StartsWith(file + ":1: the first line must be"));
  EXPECT_THAT(refusal_of("# assay truth golden, format 1\n"), StartsWith(file + ":1: the first line must be"));
  EXPECT_THAT(refusal_of(kHeading + kId), StartsWith(file + ":2: the last line is cut off"));
  EXPECT_THAT(refusal_of(kHeading + kId + "\n"), StartsWith(file + ":2: not 'key value'"));
  EXPECT_THAT(refusal_of(kHeading + kId + " w\r\n"), HasSubstr(":2: lines end in CR LF"));
  EXPECT_THAT(refusal_of(kHeading + kId + " \033[31m\n"), HasSubstr(":2: control characters"));
  EXPECT_THAT(refusal_of(kHeading + kId + " a\n" + kId + " b\n"), HasSubstr(":3: "));
  EXPECT_THAT(refusal_of(kHeading + "# note by hand\n" + kId + " a\n"), HasSubstr(":2: a '#' line"));
  const auto of_case = [&](const std::string& id) { return refusal_of(kHeading + id + " why\n"); };
  EXPECT_THAT(of_case("softmax:m=1,n=1,dtype=f32"), HasSubstr("is of another op than gemm"));
  EXPECT_THAT(of_case("gemm/simd:m=1,n=1,dtype=f32"), HasSubstr("names a kernel"));
  EXPECT_THAT(of_case("gemm:m=1,n=1"), HasSubstr("'dtype' is missing"));
  EXPECT_THAT(of_case("gemm:m=1,n=1,dtype=f32,x=1"), HasSubstr("no field 'x'"));
  EXPECT_THAT(of_case("gemm:m=-1,n=1,dtype=f32"), HasSubstr("is below 0"));
  EXPECT_THAT(of_case("gemm:m=99999999999999999999,n=1,dtype=f32"), HasSubstr("too large"));
  EXPECT_THAT(of_case("gemm:n=1,m=1,dtype=f32"), HasSubstr("is printed as 'gemm:m=1,n=1,dtype=f32'"));
  EXPECT_THAT(of_case("gemm:m=01,n=1,dtype=f32"), HasSubstr("is printed as"));
  EXPECT_THAT(of_case("gemm:m=1,n=1,dtype=f32,"), HasSubstr("ends with a comma"));
  EXPECT_THAT(of_case("gemm:" + std::string(100000, 'x')), HasSubstr("is not field=value"));
  EXPECT_THAT(refusal_of(kHeading + kId + " why\n"), HasSubstr("no UsageError"));
}

TEST_F(Stored, EveryKernelOfTheOpIsAskedThemFromCiOn) {
  const std::vector<Case> stored{ops.parse_case(kId)};
  const auto planned = [&](PlanRequest request) {
    request.stored = stored;
    std::vector<std::string> ids;
    for (const PlannedCase& one : make_plan(ops, fake_kernels(), {}, request).cases) ids.push_back(one.id);
    return ids;
  };
  const std::string simd = stored[0].kernel_id("simd"), openblas = stored[0].kernel_id("openblas");
  EXPECT_THAT(planned({.tier = Tier::smoke}), Not(Contains(simd)));
  for (const Tier tier : {Tier::ci, Tier::nightly}) {
    EXPECT_THAT(planned({.tier = tier}), AllOf(Contains(simd), Contains(openblas))) << name_of(tier);
    EXPECT_THAT(planned({.tier = tier}), Not(Contains(HasSubstr("softmax/simd:m=5"))));
  }
  EXPECT_THAT(planned({.tier = Tier::ci, .timing = Timing::also}), Contains(simd));
  EXPECT_THAT(planned({.tier = Tier::ci, .filters = {"gemm/simd:seed=9"}}), ElementsAre(simd));
  // A kernel that the policy spares its tier's cases is not spared these.
  const std::vector<Lighter> lighter{{.kernel = "gemm/simd", .tier = Tier::ci, .cases = Tier::smoke, .reason = "slow"}};
  EXPECT_THAT(planned({.tier = Tier::ci, .lighter = lighter}), Contains(simd));
  std::vector<std::string> all;
  for (const Case& c : every_case(ops, {}, stored)) all.push_back(c.id());
  EXPECT_THAT(all, Contains(kId)) << "so that it gets a truth, and is missed when it goes";
}

// One kernel fails where m >= 100 and n is odd, by a verdict of the caller's choice.
class Found : public Stored {
 protected:
  Found() {
    plan = plan_without_cases(ops, fake_kernels(), {});
    job.ops = &ops;
    job.plan = &plan;
    job.seed = 17;
    job.judge = [this](const PlannedCase& one) {
      ++judged;
      return record_of(one);
    };
  }

  Record record_of(const PlannedCase& one) {
    Record record;
    record.kernel_id = one.id;
    record.op = one.c.op();
    record.kernel = plan.kernel_of(one).name;
    record.verdict = Verdict::pass;
    record.checks = all_checks_passed();
    if (record.kernel != "simd" || one.c.integer("m") < 100 || one.c.integer("n") % 2 == 0) return record;
    record.selection = {{"chosen", one.c.integer("m") > 1000 ? "long" : "short"}};
    for (CheckResult& result : record.checks) {
      if (result.check == "accuracy") result = check_result("accuracy", Outcome::fail, "y[0]");
    }
    record.verdict = verdict;
    return record;
  }

  std::map<std::string, std::string> found(const std::vector<std::string>& ids) {
    std::vector<Record> records;
    for (const std::string& id : ids) {
      const ParsedId parsed = parse_id(id);
      for (size_t k = 0; k < plan.kernels.size(); ++k) {
        if (plan.kernels[k].op != parsed.op || plan.kernels[k].name != parsed.kernel) continue;
        plan.cases.push_back({k, ops.parse_case(id), id, false});
        records.push_back(record_of(plan.cases.back()));
      }
    }
    return found_cases(job, records);
  }

  Plan plan;
  FoundJob job;
  Verdict verdict = Verdict::wrong;
  int judged = 0;
};

const std::string kLarge = "gemm/simd:m=517,n=31,alpha=0.5,dtype=f32,fill=huge,offset=3";

TEST_F(Found, AFailureIsMadeSmallAndSaysWhereItComesFrom) {
  const auto cases = found({kLarge, "gemm/openblas:m=517,n=31,dtype=f32", "gemm/simd:m=99,n=31,dtype=f32"});
  EXPECT_THAT(cases, ElementsAre(Pair("gemm:m=100,n=1,dtype=f32,fill=zeros",
                                      "gemm/simd wrong, accuracy; fuzz seed 17, drawn as gemm:m=517,n=31,alpha=0.5,"
                                      "dtype=f32,fill=huge,offset=3")));
}

TEST_F(Found, OneCaseAWayToFail) {
  EXPECT_EQ(found({kLarge, "gemm/simd:m=517,n=33,dtype=f32", "gemm/simd:m=600,n=1,dtype=f32"}).size(), 1u);
  job.most_shrunk = 0;  // by another decision, and in another type
  EXPECT_EQ(found({kLarge, "gemm/simd:m=5170,n=33,dtype=f32", "gemm/simd:m=517,n=33,dtype=bf16"}).size(), 3u);
}

TEST_F(Found, WhatCannotBeShrunkIsKeptAsItIs) {
  job.most_shrunk = 0;
  EXPECT_THAT(found({kLarge}), ElementsAre(Pair("gemm:m=517,n=31,alpha=0.5,dtype=f32,fill=huge,offset=3",
                                                "gemm/simd wrong, accuracy; fuzz seed 17")));
  EXPECT_EQ(judged, 0);
  job.most_shrunk = 10;
  job.stop_asked = [] { return true; };
  EXPECT_EQ(found({kLarge}).size(), 1u);
  EXPECT_EQ(judged, 0);
}

TEST_F(Found, KnownIssuesAndErrorsOfTheHarnessAreNothingToStore) {
  for (const Verdict other : {Verdict::known, Verdict::error}) {
    verdict = other;
    EXPECT_THAT(found({kLarge}), IsEmpty()) << word_of(other);
  }
}

}  // namespace
}  // namespace assay
