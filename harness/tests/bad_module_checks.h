// What the tests of bad modules share: a judge with short limits, cases, and what is expected of each module.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>

#include "core/error.h"
#include "core/op.h"
#include "record/verdict.h"
#include "scratch.h"
#include "worker/judge_client.h"

namespace assay::bad {

inline const std::filesystem::path kBuild = ASSAY_BUILD_DIR;

inline JudgeSettings settings(Device device, double deadline_seconds) {
  return {.judge_program = kBuild / "bin/assay-judge",
          .worker_program = kBuild / "bin/assay-worker",
          .device = device,
          .threads = 2,
          .deadline_seconds = deadline_seconds,
          .memory_limit_bytes = (device == Device::cpu ? 256u : 2048u) << 20};
}

inline std::filesystem::path module_named(const std::string& name) { return kBuild / "bad_modules" / (name + ".so"); }

// What the coordinator adds before it concludes.
inline Record concluded(Record record) {
  for (const char* check : {"truth", "golden-bits", "statistical"}) {
    record.checks.push_back(check_result(check, Outcome::no_baseline));
  }
  conclude(record);
  return record;
}

inline std::string details(const Record& record) {
  std::string all = record.reason + "\n";
  for (const CheckResult& r : record.checks) {
    all += "  " + r.check + ": " + std::string(word_of(r.outcome)) + " " + r.detail + "\n";
  }
  return all;
}

inline constexpr const char* kNormal = "reduce:kind=max,outer=7,n=33,inner=5,dtype=f32";
// Every tensor ends at a multiple of 64 bytes, and lies at one where its region ends with a page.
inline constexpr const char* kManyRows = "reduce:kind=max,n=2,inner=600000,dtype=f32";
inline constexpr const char* kRound = "reduce:kind=max,outer=4,n=16,inner=16,dtype=f32";
inline constexpr const char* kZeros = "reduce:kind=max,outer=7,n=33,inner=5,dtype=f32,fill=zeros";
inline constexpr const char* kNaN = "reduce:kind=max,outer=7,n=33,inner=5,dtype=f32,fill=nan_one";
inline constexpr const char* kLarge = "reduce:kind=max,outer=1000,n=100,inner=33,dtype=f32";
inline constexpr const char* kStart = "reduce:kind=max,outer=7,n=33,inner=5,dtype=f32,place=start";
inline constexpr const char* kSum = "reduce:kind=sum,outer=7,n=33,inner=5,dtype=f32";
inline constexpr const char* kBeyond32Bits = "reduce:kind=max,outer=32771,n=1,inner=65537,dtype=f32";

struct Row {
  const char* module;
  Verdict verdict;
  const char* reason;  // part of the record's reason
  const char* case_id = kNormal;
  const char* good = "good";  // which passes this case
};
inline void PrintTo(const Row& row, std::ostream* out) { *out << row.module; }

inline Record check(JudgeClient& judge, const std::string& module, const std::string& case_id) {
  const OpRegistry ops = make_op_registry();
  return concluded(judge.check(judge.load(module_named(module)).at(0), ops.parse_case(case_id)));
}

// The module has earned its row, and the good one beside it still passes.
inline void expect_verdict(JudgeClient& judge, const std::string& folder, const Row& row) {
  const Record record = check(judge, folder + row.module, row.case_id);
  EXPECT_EQ(word_of(record.verdict), word_of(row.verdict)) << details(record);
  EXPECT_NE(record.reason.find(row.reason), std::string::npos) << details(record);
  const Record good = check(judge, folder + row.good, row.case_id);
  EXPECT_EQ(good.verdict, Verdict::pass) << details(good);
}

// The module passes where it is judged, has earned its row where it is timed, and has a latency only where it passes.
inline void expect_verdict_when_timed(const JudgeSettings& settings, const std::string& folder, const Row& row) {
  const Scratch scratch;
  const OpRegistry ops = make_op_registry();
  const Case c = ops.parse_case(row.case_id);
  JudgeClient judge(settings);
  const KernelInfo kernel = judge.load(module_named(folder + row.module)).at(0);
  Record record = concluded(judge.check(kernel, c));
  ASSERT_EQ(record.verdict, Verdict::pass) << details(record);
  judge.sample(kernel, c, {.seconds_at_most = 0.1, .samples_folder = scratch.path}, record);
  conclude(record);
  EXPECT_EQ(word_of(record.verdict), word_of(row.verdict)) << details(record);
  EXPECT_NE(record.reason.find(row.reason), std::string::npos) << details(record);
  EXPECT_EQ(record.latency.empty(), row.verdict != Verdict::pass);

  // In a process of the A/B gate, whose judge has checked nothing, only the oracle can tell.
  JudgeClient other(settings);
  const Timed timed = other.time(kernel, c, {.warm_samples = 20, .cold_samples = 20, .seconds_at_most = 0.1});
  const bool is_within_bounds = row.verdict == Verdict::pass || row.verdict == Verdict::nondeterministic;
  EXPECT_EQ(timed.failed.empty(), is_within_bounds) << timed.failed;
  EXPECT_EQ(timed.metrics.contains("cold"), is_within_bounds);
}

}  // namespace assay::bad
