#include "gate/comparison.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>
#include <utility>

#include "core/clock.h"
#include "core/error.h"
#include "record/json.h"
#include "record/json_text.h"
#include "record/run_folder.h"
#include "record/verdict.h"

namespace assay {

using nlohmann::json;

namespace {

namespace fs = std::filesystem;

constexpr const char* kBlocksFile = "blocks.jsonl";

// blocks.jsonl, appended to; what lies there already.
class BlockLog {
 public:
  explicit BlockLog(const fs::path& folder) : path_(folder / kBlocksFile) {
    if (is_there(path_)) recorded_ = read_blocks(path_);
    write();  // without a torn last line
  }
  ~BlockLog() { ::close(fd_); }
  BlockLog(const BlockLog&) = delete;
  BlockLog& operator=(const BlockLog&) = delete;

  // Those of the numbered block, if it was recorded.
  std::vector<RecordedBlock> find(int64_t number) const {
    std::vector<RecordedBlock> found;
    for (const RecordedBlock& block : recorded_) {
      if (block.number == number) found.push_back(block);
    }
    return found;
  }

  int64_t last() const {
    int64_t last = -1;
    for (const RecordedBlock& block : recorded_) last = std::max(last, block.number);
    return last;
  }

  // Of one that was recorded in part.
  void forget(int64_t number) {
    std::erase_if(recorded_, [&](const RecordedBlock& block) { return block.number == number; });
    write();
  }

  void append(const std::vector<RecordedBlock>& blocks) {
    recorded_.insert(recorded_.end(), blocks.begin(), blocks.end());
    std::string lines;
    for (const RecordedBlock& block : blocks) lines += line_of(block);
    for (size_t written = 0; written < lines.size();) {
      const ssize_t count = ::write(fd_, lines.data() + written, lines.size() - written);
      ASSAY_SYSTEM(count);
      written += static_cast<size_t>(count);
    }
    ASSAY_SYSTEM(::fdatasync(fd_));
  }

 private:
  static std::string line_of(const RecordedBlock& block) { return print_json(to_json(block), -1) + "\n"; }

  void write() {
    std::string whole;
    for (const RecordedBlock& block : recorded_) whole += line_of(block);
    if (fd_ >= 0) ::close(fd_);
    write_file_atomically(path_, whole);
    fd_ = ::open(path_.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
    ASSAY_SYSTEM(fd_);
  }

  fs::path path_;
  std::vector<RecordedBlock> recorded_;
  int fd_ = -1;
};

// A block that was recorded, or one that is measured and recorded now.
class Blocks {
 public:
  explicit Blocks(ComparisonJob& job) : job_(&job), log_(job.folder), meter_(job.meter_settings()) {}

  // Empty when a stop was asked for, since what was measured until then may be disturbed by that, and is not recorded;
  // and when there is no more time.
  std::vector<RecordedBlock> next(const std::vector<size_t>& wanted) {
    std::vector<RecordedBlock> block = log_.find(count_);
    const bool is_whole = block.size() == wanted.size(), may_be_torn = log_.last() <= count_;
    if (!is_begun_with(block, wanted) || !(is_whole || may_be_torn)) {
      throw UsageError(
          fmt::format("{}/{}: block {} is of other cases than this comparison asks for, or lacks some and later ones "
                      "are there; begin another run",
                      job_->folder.string(), kBlocksFile, count_));
    }
    if (!is_whole) {
      if (!block.empty()) log_.forget(count_);
      out_of_time_ = job_->out_of_time();
      if (out_of_time_ || job_->stop_asked()) return {};
      job_->progress(count_, wanted.size());
      block = meter_.measure(count_, wanted);
      if (job_->stop_asked()) return {};
      log_.append(block);
    }
    ++count_;
    return block;
  }
  int64_t count() const { return count_; }
  bool is_next_recorded() const { return !log_.find(count_).empty(); }
  bool out_of_time() const { return out_of_time_; }

 private:
  bool is_begun_with(const std::vector<RecordedBlock>& blocks, const std::vector<size_t>& wanted) const {
    return blocks.size() <= wanted.size() &&
           std::equal(blocks.begin(), blocks.end(), wanted.begin(),
                      [&](const RecordedBlock& block, size_t i) { return block.case_id == meter_.cases()[i].id(); });
  }

  ComparisonJob* job_;
  BlockLog log_;
  BlockMeter meter_;
  int64_t count_ = 0;
  bool out_of_time_ = false;
};

// One that gave no sample at all.
CaseResult untimed(const ArmCase& one, LatencyOutcome outcome, const std::string& reason) {
  CaseResult result{.id = one.id(), .latency_class = one.latency_class};
  for (PairResult& pair : result.pairs) pair = {.outcome = outcome, .reason = reason};
  return result;
}

// The cases of what is not timed, which leave the job; what is new is among what it leaves out.
std::vector<CaseResult> take_untimed(const ArmPlans& plans, ComparisonJob& job) {
  std::vector<CaseResult> results;
  for (const NotTimed& not_timed : plans.not_timed) {
    const auto is_it = [&](const ArmCase& one) { return one.kernel_id == not_timed.kernel_id; };
    const bool is_new = not_timed.as == LatencyOutcome::not_gated;
    if (is_new) job.compared.left_out.push_back({not_timed.kernel_id, not_timed.why});
    for (const ArmCase& one : job.compared.cases) {
      if (is_it(one) && !is_new) results.push_back(untimed(one, not_timed.as, "where it is timed, " + not_timed.why));
    }
    std::erase_if(job.compared.cases, is_it);
    std::erase_if(job.compared.first_calls, is_it);
  }
  return results;
}

// What the change refuses and the base takes is found in no block.
void tell_lost_cases(const ArmPlans& plans, const ComparedCases& compared, LatencyResult& result) {
  for (const NotTimed& not_timed : plans.not_timed) {
    const bool is_refused =
        std::ranges::find(compared.refused, not_timed.kernel_id, &ArmCase::kernel_id) != compared.refused.end();
    if (!is_refused || not_timed.as != LatencyOutcome::failed) continue;
    result.findings.push_back({"coverage", not_timed.kernel_id + ": the base takes it, " + not_timed.why});
    result.exit_code = combine_exit_codes(result.exit_code, exit_code_of(LatencyOutcome::inconclusive));
  }
}

// Of what failed before any block the ledger knows as of what failed in one.
void note_failures(const std::vector<CaseResult>& untimed, AlphaLedger& ledger) {
  for (const CaseResult& one : untimed) {
    const LatencyPair pair{one.id, LatencyMetric::p50};
    if (worst_outcome(one) != LatencyOutcome::failed) continue;
    if (std::ranges::find(ledger.regressed, pair, &AlphaLedger::Called::pair) != ledger.regressed.end()) continue;
    ledger.regressed.push_back({pair, {}, one.pairs[static_cast<size_t>(pair.metric)].reason});
  }
}

// Nothing that blocks have come to is forgotten because they are gone.
void require_all_known(const ComparisonJob& job, const AlphaLedger& now) {
  constexpr double kRounding = 1e-12;
  const auto has = [&](const AlphaLedger::Called& called) {
    return std::ranges::find(now.regressed, called.pair, &AlphaLedger::Called::pair) != now.regressed.end();
  };
  if (now.spent >= job.known.spent - kRounding && std::ranges::all_of(job.known.regressed, has)) return;
  throw UsageError(
      fmt::format("{}: {} or plans.json lacks what the ledger knows of this run; put it back, or begin "
                  "another run",
                  job.folder.string(), kBlocksFile));
}

// What the gate is told of a block.
MeasuredCase told_of(const RecordedBlock& block, size_t index, int64_t least_tail_samples) {
  MeasuredCase told{.index = index};
  std::optional<bool> of_change;
  if (block.void_process >= 0) of_change = is_change(block.block.order, static_cast<size_t>(block.void_process));
  if (!block.block.is_measured()) {
    told.failure = {block.void_why, !of_change.value_or(false), of_change.value_or(true)};
  } else if (block.is_void()) {
    told.voided = VoidBlock{block.void_why, of_change};
  } else {
    told.deltas = block_deltas(block.block, least_tail_samples);
  }
  return told;
}

GatedCase gated(const ComparisonJob& job, const ArmCase& one) {
  const auto known = job.classes.find(one.latency_class);
  LatencyClass of;
  if (known != job.classes.end()) of = known->second;
  of.name = one.latency_class;
  return gated_case(job.policy, of, one.id());
}

// The wanted cases, and the first calls of their kernel ids behind them.
std::vector<size_t> with_first_calls(const ComparedCases& compared, std::vector<size_t> wanted) {
  std::set<std::string> ids;
  for (const size_t i : wanted) ids.insert(compared.cases[i].kernel_id);
  for (size_t i = 0; i < compared.first_calls.size(); ++i) {
    if (ids.contains(compared.first_calls[i].kernel_id)) wanted.push_back(compared.cases.size() + i);
  }
  return wanted;
}

// A process meets a case first in its first turn.
void note_first_call(const RecordedBlock& block, const std::string& kernel_id, Comparison& comparison) {
  if (block.is_void()) return;
  for (size_t place = 0; place < kProcessesOfABlock; ++place) {
    FirstCallTimes& times = comparison.first_calls[kernel_id];
    const double us = block.has_samples() ? static_cast<double>(block.nanoseconds[place].front()) / 1e3
                                          : block.block.processes[place].p50_us;
    (is_change(block.block.order, place) ? times.change : times.base).push_back(us);
  }
}

json to_json(const std::vector<NotCompared>& all) {
  json list = json::array();
  for (const NotCompared& one : all) list.push_back({{"what", one.what}, {"why", one.why}});
  return list;
}

json pair_to_json(const CaseResult& of, LatencyMetric metric) {
  const auto i = static_cast<size_t>(metric);
  const PairResult& pair = of.pairs[i];
  const Margin& margin = of.margins[i];
  return {{"metric", word_of(metric)},
          {"outcome", word_of(pair.outcome)},
          {"reason", pair.reason},
          {"confirmed", pair.confirmed},
          {"blocks", pair.reading.blocks},
          {"estimate", number_or_null(pair.reading.estimate)},
          {"low", number_or_null(pair.reading.interval.lower)},
          {"high", number_or_null(pair.reading.interval.upper)},
          {"upper", number_or_null(pair.reading.upper)},
          {"p_slower", number_or_null(pair.reading.p_slower)},
          {"p_faster", number_or_null(pair.reading.p_faster)},
          {"least", margin.least},
          {"margin", number_or_null(margin.margin)},
          {"blind", margin.blind},
          {"note", margin.note}};
}

}  // namespace

std::string latency_class_of(const std::string& device, const LatencySummary& latency) {
  const char* how = latency.batch > 1      ? "batched"
                    : latency.coarse       ? "coarse"
                    : latency.p50_us < 50  ? "below-50us"
                    : latency.p50_us < 500 ? "below-500us"
                                           : "longer";
  return device + "/" + latency.metric + "/" + how;
}

ComparedCases compared_cases(const Plan& plan, const std::vector<Record>& records, const Pairs& pairs,
                             const std::string& device, bool skip) {
  std::map<std::string, const Record*> by_id;
  for (const Record& record : records) by_id[record.kernel_id] = &record;
  ComparedCases compared;
  std::set<std::string> unchanged;
  for (const std::string& kernel : pairs.base_alone) compared.left_out.push_back({kernel, "the change has it no more"});
  for (const std::string& kernel : pairs.change_alone)
    compared.left_out.push_back({kernel, "the base does not have it"});
  for (const PlannedCase& planned : plan.cases) {
    if (!planned.timed) continue;
    const KernelInfo& kernel = plan.kernel_of(planned);
    const std::string name = kernel.op + "/" + kernel.name;
    const auto pair = pairs.both.find(name);
    if (pair == pairs.both.end()) {
      const auto has_it = [&](const std::vector<std::string>& all) {
        return std::ranges::find(all, name) != all.end();
      };
      if (has_it(pairs.base_alone) || has_it(pairs.change_alone)) continue;
      throw Invalid(name +
                    " was judged, and neither arm has it: its latency cannot be compared; build the arms as the " +
                    "modules that are judged (the same libraries and options), or leave those out that they lack");
    }
    if (skip && !pair->second.unchanged.empty()) {
      if (unchanged.insert(pair->first).second) compared.unchanged.push_back({pair->first, pair->second.unchanged});
      continue;
    }
    const auto found = by_id.find(planned.id);
    if (found == by_id.end() || found->second->verdict != Verdict::pass) {
      const std::string verdict(found == by_id.end() ? "not recorded" : word_of(found->second->verdict));
      if (verdict == "unsupported") {
        compared.refused.push_back({planned.id, "warm", "", pair->second.base, pair->second.change, planned.c});
      } else {
        compared.left_out.push_back({planned.id, "is " + verdict + ": no latency of it counts"});
      }
      continue;
    }
    for (const LatencySummary& latency : found->second->latency) {
      if (latency.metric != "warm" && latency.metric != "cold") continue;
      compared.cases.push_back({planned.id, latency.metric, latency_class_of(device, latency), pair->second.base,
                                pair->second.change, planned.c});
    }
  }
  return compared;
}

json to_json(const Comparison& comparison) {
  json cases = json::array();
  for (const CaseResult& one : comparison.result.cases) {
    json pairs = json::array();
    for (const LatencyMetric metric : kLatencyMetrics) pairs.push_back(pair_to_json(one, metric));
    cases.push_back({{"case", one.id},
                     {"class", one.latency_class},
                     {"outcome", word_of(worst_outcome(one))},
                     {"blocks", one.blocks},
                     {"voids", one.voids},
                     {"pairs", pairs}});
  }
  json findings = json::array();
  for (const Finding& finding : comparison.result.findings) {
    findings.push_back({{"kind", finding.kind}, {"text", finding.text}});
  }
  return {{"schema", schema_to_json()},
          {"base", comparison.base},
          {"change", comparison.change},
          {"unchanged", to_json(comparison.compared.unchanged)},
          {"left_out", to_json(comparison.compared.left_out)},
          {"selections", to_json(comparison.selections)},
          {"cases", cases},
          {"findings", findings},
          {"blocks", comparison.blocks},
          {"seconds", comparison.seconds},
          {"seed", comparison.seed},
          {"invalid", comparison.invalid},
          {"exit_code", comparison.result.exit_code}};
}

void write_comparison(const fs::path& folder, const Comparison& comparison) {
  write_file_atomically(folder / "latency.json", print_json(to_json(comparison), 1) + "\n");
}

BlockMeter::Settings ComparisonJob::meter_settings() const {
  BlockMeter::Settings settings = meter;
  settings.stop_asked = stop_asked;
  settings.cases = compared.cases;
  settings.cases.insert(settings.cases.end(), compared.first_calls.begin(), compared.first_calls.end());
  return settings;
}

std::optional<Comparison> compare_latencies(ComparisonJob job) {
  Comparison comparison{.base = job.ledger.base, .change = job.ledger.change, .seed = job.meter.seed};
  const auto began = Clock::now();
  BlockMeter::Settings planning = job.meter_settings();
  planning.cases.insert(planning.cases.end(), job.compared.refused.begin(), job.compared.refused.end());
  std::optional<ArmPlans> plans = planning.cases.empty() ? ArmPlans{} : plans_of_arms(planning, job.folder);
  if (!plans) return std::nullopt;
  const std::vector<CaseResult> untimed = take_untimed(*plans, job);
  comparison.selections = std::move(plans->changed);
  const auto save_ledger = [&](AlphaLedger ledger) {
    note_failures(untimed, ledger);
    require_all_known(job, ledger);
    job.save_ledger(ledger);
  };
  if (job.compared.cases.empty()) {
    add_earlier_regressions(job.ledger, {}, comparison.result);
    AlphaLedger ledger = job.ledger;
    ++ledger.gates;
    save_ledger(ledger);
  } else {
    std::vector<GatedCase> cases;
    for (const ArmCase& one : job.compared.cases) cases.push_back(job.adjust(gated(job, one), one));
    LatencyGate gate(job.policy, std::move(cases), job.ledger);
    Blocks blocks(job);
    for (std::vector<size_t> wanted = gate.wanted(); !wanted.empty(); wanted = gate.wanted()) {
      // What was recorded is in the ledger already, and what came of later blocks too.
      if (!blocks.is_next_recorded()) save_ledger(gate.ledger());
      const std::vector<size_t> measured_too = with_first_calls(job.compared, wanted);
      const std::vector<RecordedBlock> block = blocks.next(measured_too);
      if (blocks.out_of_time()) break;
      if (block.empty()) return std::nullopt;
      for (size_t i = wanted.size(); i < block.size(); ++i) {
        note_first_call(block[i], job.compared.first_calls[measured_too[i] - job.compared.cases.size()].kernel_id,
                        comparison);
      }
      std::vector<MeasuredCase> measured;
      for (size_t i = 0; i < wanted.size(); ++i) {
        measured.push_back(told_of(block[i], wanted[i], job.policy.tail_samples));
      }
      gate.add(measured);
    }
    save_ledger(gate.ledger());
    comparison.result = gate.result();
    comparison.blocks = blocks.count();
    comparison.out_of_time = blocks.out_of_time();
  }
  for (const CaseResult& one : untimed) {
    comparison.result.cases.push_back(one);
    comparison.result.exit_code = combine_exit_codes(comparison.result.exit_code, exit_code_of(worst_outcome(one)));
  }
  tell_lost_cases(*plans, job.compared, comparison.result);
  comparison.compared = std::move(job.compared);
  comparison.seconds = seconds_since(began);
  write_comparison(job.folder, comparison);
  return comparison;
}

bool record_blocks(ComparisonJob job, int64_t blocks) {
  Blocks source(job);
  std::vector<size_t> all(job.compared.cases.size());
  std::iota(all.begin(), all.end(), size_t{0});
  while (source.count() < blocks) {
    if (source.next(all).empty()) return false;
  }
  return true;
}

}  // namespace assay
