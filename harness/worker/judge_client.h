// The coordinator's end of a judge: starts the judge process, asks it questions one at a time, and reads its answers.
// The coordinator itself touches no kernel and no device. A judge starts and replaces its workers itself. With the
// judge ends whatever it leaves, by the mark that it and all it starts were given; a process that has several judges
// starts nothing else meanwhile that should outlive them. A judge belongs to the thread that made it, and ends with it.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "core/case.h"
#include "core/contract.h"
#include "measure/sampler.h"
#include "record/record.h"
#include "record/run_json.h"
#include "worker/judge_settings.h"

namespace assay {

// One kernel of a module, as a worker that loaded the module described it.
struct KernelInfo {
  std::filesystem::path module;
  std::string module_hash;  // of its machine code and read-only data
  std::string op, name, target;
  Contract contract;
};

// Whether other judges are at work on the same device meanwhile.
enum class Company { none, others };

// Begins the detail of a check "growth" that was skipped: only the device's memory in use grew, and others may have
// taken it. Asked again without company, it passes or fails.
inline constexpr std::string_view kGrewInCompany = "not known beside other judges: ";

// What to time, in addition to the correctness checks of the same (case, kernel).
struct SamplePlan {
  int warm_samples = 200;
  int cold_samples = 50;
  double seconds_at_most = 2;            // per metric
  std::filesystem::path samples_folder;  // raw samples are written here, first; names are chosen by the worker
};

// What to time of a case in one process of an arm, of which this is one turn of several; raw samples come back.
struct TimePlan {
  int64_t warm_samples = 0;  // at most; 0: that metric is not measured
  int64_t cold_samples = 0;
  double seconds_at_most = 0;      // per metric
  int64_t enough = 0;              // samples that may take longer than that:
  double enough_seconds = 0;       // so long
  int64_t turns = 1;               // that share samples, time and warm-up
  std::set<std::string> single{};  // metrics of which each sample is of one launch, however short
  uint64_t scatter = 0;            // where buffers lie (device/layout.h)
};
struct Timed {
  std::map<std::string, SampleSet> metrics;      // "warm", "cold", "first_call", "prepare", ...
  std::map<std::string, std::string> selection;  // what the plan chose, as its kernel describes it
  std::string refused;                           // the kernel does not take the case: its reason
  std::string failed;                            // it took it and there are no samples: how it ended
};
// The median of the sentinel (measure/sentinel.h) in the process that times.
struct SentinelTime {
  double us = 0;
  std::string failed{};  // there is none: how that process ended
};

struct Probed {
  std::vector<std::byte> bytes;
  std::string refused;  // the kernel does not take the case: its reason
  std::string failed;   // it took it and gave no answer: how it ended
};

// How a screened answer is verified: in the square of a product's size, where that is possible, and else not at all;
// whatever it takes; or not, but that launches repeated and with other threads give the same bytes. The last two take
// every seed of the case.
enum class Verification { freivalds, oracle, repeats };
inline constexpr std::array<std::string_view, 3> kVerifications{"freivalds", "oracle", "repeats"};

// What one launch of a case showed (worker/screening.h).
struct Screened {
  std::string refused;     // the kernel does not take the case: its reason
  std::string unverified;  // it took it, and nothing is known of its answer: why
  Verdict verdict = Verdict::pass;
  std::string reason;  // of a verdict that is no pass: "check: detail"
  Record record;       // then: the checks that failed, what the kernel says that it ran, and what was loaded late
};

// The judge process died or broke the protocol. The question in flight has no answer; start another judge.
struct JudgeDied : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// By this program, because a stop was asked for: another judge would be stopped as well.
struct JudgeStopped : JudgeDied {
  using JudgeDied::JudgeDied;
};

class JudgeClient {
 public:
  explicit JudgeClient(const JudgeSettings& settings);  // throws Error when it cannot be started
  ~JudgeClient();                                       // ends the judge and every worker
  JudgeClient(const JudgeClient&) = delete;
  JudgeClient& operator=(const JudgeClient&) = delete;

  // The kernels in a module. A module that cannot be used (no such file, missing symbol, other ABI version, a crash
  // while loading) throws UsageError with the reason; the judge goes on.
  std::vector<KernelInfo> load(const std::filesystem::path& module);

  // Every correctness check of one case on one kernel. Never throws for what a kernel does: that is in the record.
  Record check(const KernelInfo& kernel, const Case& c, Company company = Company::none);

  // Each in turn, with one launch and few checks. As check(), never throws for what a kernel does.
  std::vector<Screened> screen(const KernelInfo& kernel, std::span<const Case> cases, Verification by);

  // The bytes of one output of one launch, dense, judged by nobody; or why there are none. `fresh`: in a worker process
  // of its own.
  Probed probe(const KernelInfo& kernel, const Case& c, const std::string& output, bool fresh = false);

  // The contract in force for the plan of a case, as the worker reports it: the kernel's own, or the one of the kernel
  // that a dispatcher chose. Throws Error when there is no plan: it is refused, or making it fails.
  Contract plan_contract(const KernelInfo& kernel, const Case& c);

  // Latency of a case whose record passed: fills `record.latency`. Never called for one that did not. Where launches
  // that were timed gave another answer there is none, and a check of the record fails.
  void sample(const KernelInfo& kernel, const Case& c, const SamplePlan& plan, Record& record);

  // Latency for the comparison of two arms, in one timing process as long as this judge lives: the module is loaded
  // there at its first case, and nowhere else. Never throws for what a kernel does.
  Timed time(const KernelInfo& kernel, const Case& c, const TimePlan& plan);
  // Loads the module there and makes the kernel's plan of the case, which may take long the first time, and no launch.
  void prepare(const KernelInfo& kernel, const Case& c);
  // In the same process. Throws Error when that was lost.
  SentinelTime sentinel();
  // Processor time, in seconds, that the judge and the process that times have used.
  double seconds_spent();

  // Libraries the workers of this judge had loaded, seen after their last case.
  std::vector<LoadedLibrary> libraries();

  int pid() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace assay
