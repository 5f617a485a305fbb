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
Arms arms_of(const Judged& judged) {
  const Options& options = *judged.options;
  if (!options.base_modules.empty()) {
    const fs::path own = module_files(options).front().parent_path();
    return {arm_of("base", options.base_modules), arm_of("change", own)};
  }
  const fs::path script = judged.trees->judging / "ci" / "arm", out = build_folder() / ("arms-" + options.device);
  const fs::path venv = fs::absolute(judged.trees->root / ".venv");  // the tree that judges may have none
  fmt::print(stderr, "assay: building the kernels of base and change at one path\n");
  return {build_arm("base", script, judged.trees->base->path(), venv, options.device, out),
          build_arm("change", script, judged.trees->root, venv, options.device, out)};
}

Loaded load_arm(const Judged& judged, const Arm& arm, const OpRegistry& ops) {
  Options options = *judged.options;
  options.modules.clear();
  options.modules_folder = arm.modules;
  const StartJudge start = judge_process(limited(judge_settings(options), *judged.policy));
  Loaded loaded = load_modules(start, module_files(options), ops);
  // Kernels of an op that only one arm has are in no case of both.
  if (!loaded.unloadable.empty()) throw UsageError("modules of the " + arm.name + ": " + loaded.unloadable.front());
  return loaded;
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
std::vector<RecordedBlock> read_calibration(const Judged& judged, const LatencyPolicy::Voids& voids) {
  const fs::path file = judged.trees->policy() / "latency" / (judged.pin->platform + ".jsonl");
  if (!fs::exists(file)) return {};
  std::vector<RecordedBlock> blocks = read_blocks(file);
  for (RecordedBlock& block : blocks) apply_void_rules(voids, block);
  return blocks;
}

// Where the ledger of a pair lies.
fs::path ledger_file(const Judged& judged, const std::string& base, const std::string& change) {
  const Options& options = *judged.options;
  const fs::path ledgers = options.ledgers.empty() ? judged.trees->root / "runs" / "latency-ledgers" : options.ledgers;
  return ledgers / (base + "-" + change + "-" + options.device + ".json");
}

void keep_ledger(const fs::path& file, ComparisonJob& job) {
  job.save_ledger = [file](const AlphaLedger& ledger) {
    fs::create_directories(file.parent_path());
    write_file_atomically(file, print_json(to_json(ledger), 1) + "\n");
  };
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

// A canary rejects a tail that no calibration is needed to see, where a process has samples enough to show it.
GatedCase with_tail(GatedCase gated, const ArmCase& one, const CanaryPolicy& policy) {
  Margin& tail = gated.margins[static_cast<size_t>(LatencyMetric::tail)];
  const bool is_sampled = one.latency_class.ends_with("/below-50us") || one.latency_class.ends_with("/below-500us");
  if (tail.gates || one.metric != "warm" || !is_sampled) return gated;
  tail = {.gates = true,
          .least = policy.tail / 2,
          .margin = policy.tail,
          .blind = true,
          .unproven = true,
          .note = tail.note};
  return gated;
}

// Where nobody has calibrated the machine nothing tells which changes it shows: a canary then excludes those that would
// reject, and holds whatever is slower beyond doubt, however little.
GatedCase with_canary_margins(GatedCase gated, const CanaryPolicy& policy) {
  for (const LatencyMetric metric : {LatencyMetric::p50, LatencyMetric::p90}) {
    Margin& margin = gated.margins[static_cast<size_t>(metric)];
    margin.unproven = !margin.gates;
    margin.gates = true;
    margin.margin = delta_of(metric, policy.slower);
  }
  return gated;
}

ComparisonJob job_of(const Judged& judged, ComparedCases compared, const ComparisonStart& start) {
  if (!judged.policy->latency) {
    throw UsageError((judged.policy->folder / "policy.toml").string() +
                     ": latency: is missing; give the table [latency], or ask with --no-latency");
  }
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

std::optional<Comparison> compare_with_base(const Judged& judged) {
  const Options& options = *judged.options;
  try {
    require_pinned(*judged.pin, "gate --base: the comparison of latencies", options.unpinned);
  } catch (const Invalid& e) {
    Comparison comparison{.invalid = e.what()};
    comparison.result.exit_code = 3;
    write_comparison(judged.run, comparison);
    return comparison;
  }
  const OpRegistry ops = make_op_registry();
  const Arms arms = arms_of(judged);
  const std::vector<KernelInfo> base = load_arm(judged, arms.base, ops).kernels;
  const std::vector<KernelInfo> change = load_arm(judged, arms.change, ops).kernels;
  const std::string of_base = identity_of(base), of_change = identity_of(change);
  const fs::path ledger = ledger_file(judged, of_base, of_change);
  ComparisonJob job = job_of(judged,
                             compared_cases(*judged.plan, *judged.records, pair_up(base, change, options.device),
                                            options.device, !options.no_skip),
                             start_comparison(judged.run, ledger, of_base, of_change));
  keep_ledger(ledger, job);
  return compare_latencies(std::move(job));
}

std::optional<Comparison> compare_libraries(const Judged& judged, const LibraryArm& pin, const LibraryArm& candidate) {
  Pairs pairs;
  for (const KernelInfo& kernel : judged.loaded->kernels)
    pairs.both[kernel.op + "/" + kernel.name] = {kernel, kernel, ""};
  ComparedCases compared = compared_cases(*judged.plan, *pin.records, pairs, judged.options->device, false);
  leave_out_failures(*candidate.records, compared);
  add_first_calls(compared);
  const fs::path ledger = ledger_file(judged, pin.identity, candidate.identity);
  ComparisonJob job =
      job_of(judged, std::move(compared), start_comparison(judged.run, ledger, pin.identity, candidate.identity));
  keep_ledger(ledger, job);
  job.meter.start = timing_process(pin.settings, pin.seen);
  job.meter.start_change = timing_process(candidate.settings, candidate.seen);
  const CanaryPolicy& policy = *judged.policy->canary;
  job.adjust = [&policy, classes = job.classes, changed = planned_otherwise(*pin.records, *candidate.records)](
                   GatedCase gated, const ArmCase& one) {
    gated.is_suspect = changed.contains(one.kernel_id);
    if (!classes.contains(one.latency_class)) gated = with_canary_margins(std::move(gated), policy);
    return with_tail(std::move(gated), one, policy);
  };
  job.out_of_time = [until = std::chrono::steady_clock::now() +
                             std::chrono::duration<double>(
                                 policy.latency_seconds.at(judged.options->device).at(judged.options->tier))] {
    return std::chrono::steady_clock::now() > until;
  };
  return compare_latencies(std::move(job));
}

bool record_own_blocks(const Judged& judged) {
  const Options& options = *judged.options;
  const std::vector<KernelInfo>& own = judged.loaded->kernels;
  ComparedCases compared =
      compared_cases(*judged.plan, *judged.records, pair_up(own, own, options.device), options.device, false);
  if (compared.cases.empty()) throw UsageError("--blocks: no case passed and was timed");
  return record_blocks(job_of(judged, std::move(compared), start_comparison(judged.run, {}, "own", "own")),
                       options.blocks);
}

}  // namespace assay
