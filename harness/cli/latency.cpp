#include "cli/latency.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <set>

#include "check/hash.h"
#include "cli/interrupt.h"
#include "cli/job.h"
#include "cli/paths.h"
#include "cli/progress.h"
#include "core/error.h"
#include "gate/canary_case.h"
#include "gate/canary_latency.h"
#include "gate/comparison_start.h"
#include "gate/pin.h"
#include "load/elf.h"
#include "record/json_text.h"
#include "record/run_folder.h"
#include "record/verdict.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

struct Arms {
  Arm base, change;
};

// Both are built by the script of the tree that judges.
Arms arms_of(const Options& options, const Trees& trees) {
  if (!options.base_modules.empty()) {
    const fs::path own = module_files(options).front().parent_path();
    return {arm_of("base", options.base_modules), arm_of("change", own)};
  }
  const fs::path script = trees.judging / "ci" / "arm", out = build_folder() / ("arms-" + options.device);
  const fs::path venv = fs::absolute(trees.root / ".venv");  // the tree that judges may have none
  fmt::print(stderr, "assay: building the kernels of base and change at one path\n");
  return {build_arm("base", script, trees.base->path(), venv, options.device, out),
          build_arm("change", script, trees.root, venv, options.device, out)};
}

std::vector<KernelInfo> load_arm(Options options, const Policy& policy, const Arm& arm, const OpRegistry& ops) {
  options.modules.clear();
  options.modules_folder = arm.modules;
  const StartJudge start = judge_process(limited(judge_settings(options), policy));
  Loaded loaded = load_modules(start, module_files(options), ops);
  // Kernels of an op that only one arm has are in no case of both.
  if (!loaded.unloadable.empty()) throw UsageError("modules of the " + arm.name + ": " + loaded.unloadable.front());
  return loaded.kernels;
}

void require_latency_policy(const Policy& policy) {
  if (policy.latency) return;
  throw UsageError((policy.folder / "policy.toml").string() +
                   ": latency: is missing; give the table [latency], or ask with --no-latency");
}

// What tells an arm: what its modules do. An edit that leaves them what they are is no new change.
std::string identity_of(const std::vector<KernelInfo>& kernels) {
  std::string all;
  for (const KernelInfo& kernel : kernels) all += image_hash_of(kernel.module);
  Hasher hasher(0);
  hasher.add(reinterpret_cast<const std::byte*>(all.data()), all.size());
  return fmt::format("modules-{:016x}", hasher.digest());
}

// The blocks by which this platform was calibrated; none where it was not.
std::vector<RecordedBlock> read_calibration(const JudgedRun& judged, const LatencyPolicy::Voids& voids) {
  const fs::path file = judged.trees->policy() / "latency" / (judged.pin->platform + ".jsonl");
  if (!is_there(file)) return {};
  std::vector<RecordedBlock> blocks = read_blocks(file);
  for (RecordedBlock& block : blocks) apply_void_rules(voids, block);
  return blocks;
}

// Where the ledger of a pair lies: what was slower on another machine, or with other threads, is said of that alone.
fs::path ledger_path(const JudgedRun& judged, const std::string& base, const std::string& change) {
  const Options& options = *judged.options;
  const fs::path ledgers = options.ledgers.empty() ? judged.trees->root / "runs" / "latency-ledgers" : options.ledgers;
  return ledgers / (base + "-" + change + "-" + judged.pin->platform + ".json");
}

// What `compare` gives, or why there is nothing to give.
template <class Compare>
std::optional<Comparison> compared_or_invalid(const JudgedRun& judged, const Compare& compare) {
  Comparison comparison;
  try {
    return compare();
  } catch (const Invalid& e) {
    comparison.invalid = e.what();
    comparison.result.exit_code = exit_code_of(Verdict::invalid);
  } catch (const std::exception& e) {
    if (interrupt_signal() != 0) return std::nullopt;  // which ends judges too
    comparison.invalid = e.what();
    comparison.result.exit_code = exit_code_of(Verdict::error);
  }
  write_comparison(judged.run, comparison);
  return comparison;
}

void leave_out_failures(const std::vector<Record>& records, ComparedCases& compared) {
  std::map<std::string, std::string> failed;
  for (const Record& record : records) {
    if (record.verdict != Verdict::pass) failed[record.kernel_id] = word_of(record.verdict);
  }
  for (const auto& [kernel_id, verdict] : failed) {
    const auto is_it = [&](const ArmCase& one) { return one.kernel_id == kernel_id; };
    if (std::erase_if(compared.cases, is_it) == 0) continue;
    compared.left_out.push_back({kernel_id, "is " + verdict + " under the candidate: no latency of it counts"});
  }
}

void add_first_calls(ComparedCases& compared) {
  std::set<std::string> ids;
  for (const ArmCase& one : compared.cases) {
    if (!ids.insert(one.kernel_id).second) continue;
    compared.first_calls.push_back({one.kernel_id, "first_call", "first_call", one.base, one.change, one.c});
  }
}

// Kernel ids whose algorithm is another under the candidate: their latencies get blocks of their own.
std::set<std::string> planned_otherwise(const std::vector<Record>& pin, const std::vector<Record>& candidate) {
  std::map<std::string, const Record*> before;
  for (const Record& record : pin) before[record.kernel_id] = &record;
  std::set<std::string> changed;
  for (const Record& record : candidate) {
    const auto found = before.find(record.kernel_id);
    if (found != before.end() && !plan_changes(*found->second, record).empty()) changed.insert(record.kernel_id);
  }
  return changed;
}

ComparisonJob job_of(const JudgedRun& judged, ComparedCases compared, const ComparisonStart& start) {
  require_latency_policy(*judged.policy);
  const LatencyPolicy& policy = *judged.policy->latency;
  ComparisonJob job;
  job.compared = std::move(compared);
  job.policy = policy;
  job.classes = calibrate(policy, read_calibration(judged, policy.voids.at(judged.options->device)));
  for (ArmCase& one : job.compared.cases) {  // what was calibrated is of the class that it was calibrated in
    for (const auto& [name, known] : job.classes) {
      if (known.cases.contains(one.id())) one.latency_class = name;
    }
  }
  job.meter = {.start = timing_process(limited(judge_settings(*judged.options), *judged.policy)),
               .prepares_at_once = judged.options->device != "cpu",  // whose engines are compiled where they run
               .voids = policy.voids.at(judged.options->device),
               .samples = policy.samples.at(judged.options->device),
               .seed = start.seed};
  job.ledger = start.ledger;
  job.known = start.known;
  job.folder = judged.run;
  job.stop_asked = [] { return interrupt_signal() != 0; };
  job.progress = [](int64_t block, size_t cases) {
    fmt::print(stderr, "{}block {}, {} cases{}", is_terminal(stderr) ? "\r\033[Klatency: " : "latency: ", block, cases,
               is_terminal(stderr) ? "" : "\n");
  };
  return job;
}

}  // namespace

bool compares_latencies(const Options& options) {
  return options.command == "gate" && !options.no_latency && (!options.base.empty() || !options.base_modules.empty());
}

ArmKernels load_arms(const Options& options, const Trees& trees, const Policy& policy) {
  require_latency_policy(policy);
  const OpRegistry ops = make_op_registry();
  const Arms arms = arms_of(options, trees);
  return {load_arm(options, policy, arms.base, ops), load_arm(options, policy, arms.change, ops)};
}

std::optional<Comparison> compare_with_base(const JudgedRun& judged, std::optional<ArmKernels> arms) {
  return compared_or_invalid(judged, [&] {
    const Options& options = *judged.options;
    require_pinned(*judged.pin, "gate --base: the comparison of latencies", options.unpinned);
    if (!arms) arms = load_arms(options, *judged.trees, *judged.policy);
    const std::string base = identity_of(arms->base), change = identity_of(arms->change);
    const LedgerFile ledger(ledger_path(judged, base, change));
    ComparisonJob job =
        job_of(judged,
               compared_cases(*judged.plan, *judged.records, pair_up(arms->base, arms->change, options.device),
                              options.device, !options.no_skip),
               start_comparison(judged.run, ledger, base, change));
    job.save_ledger = [&ledger](const AlphaLedger& now) { ledger.save(now); };
    return compare_latencies(std::move(job));
  });
}

std::optional<Comparison> compare_libraries(const JudgedRun& judged, const LibraryArm& pin,
                                            const LibraryArm& candidate) {
  return compared_or_invalid(judged, [&] {
    Pairs pairs;
    for (const KernelInfo& kernel : judged.loaded->kernels)
      pairs.both[kernel.op + "/" + kernel.name] = {kernel, kernel, ""};
    ComparedCases compared = compared_cases(*judged.plan, *pin.records, pairs, judged.options->device, false);
    leave_out_failures(*candidate.records, compared);
    compared.refused.clear();  // what either library refuses the canary tells
    add_first_calls(compared);
    // Of these modules: what calls the library is a part of what was slow.
    const std::string base = pin.identity, change = candidate.identity + "-" + identity_of(judged.loaded->kernels);
    const LedgerFile ledger(ledger_path(judged, base, change));
    ComparisonJob job = job_of(judged, std::move(compared), start_comparison(judged.run, ledger, base, change));
    job.save_ledger = [&ledger](const AlphaLedger& now) { ledger.save(now); };
    job.meter.start = timing_process(pin.settings, pin.seen);
    job.meter.start_change = timing_process(candidate.settings, candidate.seen);
    const CanaryPolicy& policy = *judged.policy->canary;
    job.adjust = [&policy, classes = job.classes, changed = planned_otherwise(*pin.records, *candidate.records)](
                     GatedCase gated, const ArmCase& one) {
      gated.is_suspect = changed.contains(one.kernel_id);
      return with_canary_margins(std::move(gated), classes.contains(one.latency_class), policy);
    };
    job.out_of_time = [until = std::chrono::steady_clock::now() +
                               std::chrono::duration<double>(
                                   policy.latency_seconds.at(judged.options->device).at(judged.options->tier))] {
      return std::chrono::steady_clock::now() > until;
    };
    return compare_latencies(std::move(job));
  });
}

bool record_own_blocks(const JudgedRun& judged) {
  const Options& options = *judged.options;
  const std::vector<KernelInfo>& own = judged.loaded->kernels;
  ComparedCases compared =
      compared_cases(*judged.plan, *judged.records, pair_up(own, own, options.device), options.device, false);
  if (compared.cases.empty()) throw UsageError("--blocks: no case passed and was timed");
  const LedgerFile none{fs::path()};
  return record_blocks(job_of(judged, std::move(compared), start_comparison(judged.run, none, "own", "own")),
                       options.blocks);
}

}  // namespace assay
