#include "worker/examination.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "check/accuracy.h"
#include "core/error.h"
#include "fill/fill.h"
#include "record/invariance.h"
#include "worker/comparisons.h"
#include "worker/load.h"
#include "worker/memory_growth.h"

namespace assay {
namespace {

constexpr int kRepeats = 20;  // launches whose bytes are compared with the first
constexpr int kLoadedLaunches = 5, kLoadedLaunchesAlone = 2;
constexpr int kCalledLaunches = 4;
constexpr uint64_t kMostOfCallers = 64 << 20;  // bytes of a case: each caller has memory of its own
// Threads beyond one a core are stopped at any instruction while others go on: races show that a team in step hides.
constexpr int kMostCrowding = 16;
constexpr int kCrowdedLaunches = 20;
constexpr const char* kBarelyAligned = "at addresses aligned as the contract asks and no better";
// As kStaleSeed, far from others.
constexpr uint64_t kPerturbedSeed = 7000001;

// One case on one kernel, check after check.
class Examination : public Comparisons {
 public:
  Examination(const Court& court, const KernelInfo& kernel, const Op& op, const Case& c)
      : Comparisons(court, kernel, op, c) {}

  Record run() {
    attempt([&] {
      if (std::optional<Trial> trial = accepted()) all_checks(*trial);
    });
    leave_no_process_behind();
    sheet_.set("sanitizer", has_streams(device()) ? Outcome::skipped : Outcome::not_applicable,
               has_streams(device()) ? "asked for by --sanitizer" : "there is none for a CPU here");
    for (const CheckRow& row : check_table()) {
      const bool golden = row.check == "truth" || row.check == "golden-bits" || row.check == "statistical";
      if (!golden && sheet_.find(row.check) == nullptr) sheet_.set(row.check, Outcome::not_applicable, unreached_);
    }
    if (sheet_.failed()) {  // what a failing kernel left in a process must not reach the next case
      court_.first->restart();
      court_.second->restart();
    }
    return std::move(sheet_.record);
  }

 private:
  // ---- the launches ----

  void all_checks(Trial& trial) {
    unreached_ = "not reached: an earlier launch failed";
    trial_ = &trial;
    begin_planning(*court_.second);
    sheet_.record.workspace_bytes = trial.workspace().bytes;
    contract_ = trial.contract();
    tensors_ = trial.tensors();
    outputs_ = trial.outputs();
    map(trial, Addresses::fresh);
    if (!base_launches(trial)) return;
    repeats(trial);
    under_load(trial);
    streams(trial);
    at_other_addresses(trial);
    has_memory_ = false;  // from here on other trials take it
    one_element_further();
    other_threads();
    vary("same-restart", *court_.second, case_, setting_, ASSAY_SAME_RESTART, "in another process");
    vary_case("same-padding", trial, op_.padded(case_), ASSAY_SAME_PADDING, "with longer rows");
    vary_case("same-batch", trial, op_.leading_part(case_), ASSAY_SAME_BATCH, "alone");
    if (sheet_.find("same-run")->outcome == Outcome::pass) {
      sensitivity();
      row_independence();
      scaling();
      other_rows_and_terms();
      beside_callers();
    } else {  // a difference would prove nothing
      for (const char* check : {"sensitivity", "row-independence", "scaling", "same-order", "same-zeros"}) {
        sheet_.set(check, Outcome::not_applicable, "repeated launches differ already");
      }
    }
    if (is_sweep(tensors_)) {
      rest_of_sweep();
    } else {
      more_seeds();
    }
    if (knows_truth_) sheet_.record.truth_hash = truth_.finish().hash;
    for (const char* check : {"guards", "inputs", "launch"}) sheet_.pass_if_unset(check);
  }

  // The plan is the same: a program makes one and launches it on whatever it has allocated meanwhile. Buffers of round
  // sizes are aligned better than the contract asks, unless they are put where they are not.
  void at_other_addresses(Trial& trial) {
    const Place other = setting_.place == Place::end ? Place::start : Place::end;
    for (const auto& [place, how] : {std::pair{other, "at other addresses"}, {Place::barely_aligned, kBarelyAligned}}) {
      trial.move(place);
      map(trial, place == other ? Addresses::fresh : Addresses::kept);
      circumstance_ = how;
      compare("same-address", launch(trial, Poison::second), ASSAY_SAME_ALIGNMENT, how);
      circumstance_.clear();
    }
  }

  void one_element_further() {
    Trial::Setting shifted = aside();
    ++shifted.offset;
    const Case there = case_.with({{"offset", std::to_string(shifted.offset)}});
    if (const std::string why = unclaimed(kernel_.contract, there); !why.empty()) {
      return sheet_.set("same-alignment", Outcome::not_applicable, "does not claim it: " + why);
    }
    vary("same-alignment", *court_.first, there, shifted, ASSAY_SAME_ALIGNMENT, "one element further");
  }

  void other_threads() {
    const bool promised = contract_.promised(ASSAY_SAME_THREADS), on_device = has_streams(device());
    const int crowd = setting_.threads + std::min(3 * setting_.threads, kMostCrowding);
    const auto with = [&](const char* check, int threads, int held_up) {
      Trial::Setting other = aside();
      other.threads = threads;
      vary(check, *court_.first, case_, other, ASSAY_SAME_THREADS, "with threads=" + std::to_string(threads), held_up);
    };
    if (on_device && !promised) {  // only a promise is worth a plan: they queue, and do no more
      sheet_.set("same-threads", Outcome::not_applicable, "threads of the host only queue, and it is not promised");
    } else {
      with("same-threads", 1, 0);
      with("same-threads", setting_.threads + 1, 0);
    }
    if (!promised) {  // crowds are slow, and libraries whose threads wait busily slowest
      return sheet_.set("same-crowd", Outcome::not_applicable, "not promised, and not asked");
    }
    with("same-crowd", crowd, kCrowdedLaunches);
  }

  // The answer under judgement: after a launch with other inputs at the same addresses, so that neither a cached nor a
  // left-over answer can pass, over that launch's answer, and over either poison. False when there is no answer to
  // judge.
  bool base_launches(Trial& trial) {
    fill(trial, seed() + kStaleSeed);
    const uint64_t stale = hash_of(launch(trial, Poison::second));  // of large outputs there is no memory for many
    fill(trial, seed());
    Outputs over_stale = launch(trial, Poison::second, Manner::plain, Before::last_answer);
    base_ = launch(trial, Poison::first);
    const bool unmoved = hash_of(base_) == stale;
    if (difference(base_, over_stale).empty()) over_stale.clear();
    Outputs again = launch(trial, Poison::second);
    if (!all_written(base_, again)) {
      unreached_ = "output was left unwritten";
      return false;
    }
    expectation_ = expect(trial, seed());
    CheckResult accuracy = judge(base_, *expectation_, contract_, sheet_.record.errors);
    accuracy = of_input(std::move(accuracy), sheet_.record.errors, 0);
    sheet_.set(accuracy);
    if (accuracy.outcome == Outcome::fail && unmoved) {
      sheet_.set("fresh", Outcome::fail, "the answer is still that of the previous inputs");
    } else if (accuracy.outcome != Outcome::fail) {
      look_for_stale(std::move(over_stale));
    }
    sheet_.pass_if_unset("fresh");
    note_output();
    note_seed(seed(), sheet_.record.errors);
    keep_if_other(std::move(again), "over another poison");
    return true;
  }

  // `got` was launched over the answer to other inputs: what took that for its own is wrong here alone.
  void look_for_stale(Outputs got) {
    if (got.empty()) return;  // the same bytes
    const std::string how = "over the answer to other inputs";
    std::vector<ErrorSummary> ignored;
    const CheckResult accuracy = judge(got, *expectation_, contract_, ignored);
    if (accuracy.outcome == Outcome::fail) {
      sheet_.set("fresh", Outcome::fail, how + ": " + accuracy.detail);
    } else {
      over_other_content_.push_back({std::move(got), how});
    }
  }

  void keep_if_other(Outputs got, const std::string& how) {
    if (!difference(base_, got).empty()) over_other_content_.push_back({std::move(got), how});
  }

  void repeats(Trial& trial) {
    constexpr int kLaunches = kRepeats - 2;
    MemoryGrowth growth(court_.first->pid());
    for (int i = 0; i < kLaunches; ++i) {
      const bool same_content = i < kLaunches / 2;  // many in a row: what alternates is not told for the content's work
      const Outputs repeat = launch(trial, same_content ? Poison::first : Poison::second);
      if (same_content) compare("same-run", repeat, ASSAY_SAME_RUN, "launch " + std::to_string(i + 3));
      if (i + 1 == kLaunches / 2) {
        for (const OverOtherContent& over : std::exchange(over_other_content_, {})) compare_content(over.got, over.how);
      }
      if (!same_content) compare_content(repeat, "over another poison, launch " + std::to_string(i + 3));
      growth.add(trial.cost());
    }
    sheet_.record.resident_growth_bytes = growth.resident();
    sheet_.set(growth_check(trial, growth, kLaunches));
  }

  // What grew on the device alone is known only where no other judge may have taken it.
  CheckResult growth_check(Trial& trial, const MemoryGrowth& growth, int launches) {
    CheckResult of_process = growth.of_process(contract_.may_allocate);
    // What settles has done so long before half of these.
    if (growth.may_settle()) of_process = growth_over(trial, 4 * launches).of_process(contract_.may_allocate);
    if (!growth.is_steady_on_device() || !device_grows_again(trial, launches)) return of_process;
    if (court_.company == Company::none) return check_result("growth", Outcome::fail, growth.on_device());
    return of_process.outcome == Outcome::fail
               ? of_process
               : check_result("growth", Outcome::skipped, std::string(kGrewInCompany) + growth.on_device());
  }

  // The other worker may have taken memory for its plan meanwhile: without it, once more.
  bool device_grows_again(Trial& trial, int launches) {
    court_.second->settle();
    return growth_over(trial, launches).is_steady_on_device();
  }

  MemoryGrowth growth_over(Trial& trial, int launches) {
    MemoryGrowth growth(court_.first->pid());
    for (int i = 0; i < launches; ++i) {
      launch(trial, Poison::first);
      growth.add(trial.cost());
    }
    return growth;
  }

  void under_load(Trial& trial) {
    const bool on_device = has_streams(device());
    const bool several = on_device || worth_holding_up(trial);
    const Manner manner = on_device ? Manner::beside_load : several ? Manner::held_up : Manner::plain;
    const Load load(on_device ? 0 : court_.settings->threads);  // what is queued on a device meets work queued there
    for (Series series(several ? kLoadedLaunches : kLoadedLaunchesAlone); series.goes_on();) {
      compare("same-load", launch(trial, Poison::second, manner), ASSAY_SAME_LOAD, "beside other work");
    }
  }

  // As a server's threads do. Nobody is asked who has failed already: what it keeps or writes may be theirs.
  void beside_callers() {
    if (has_streams(device()) || sheet_.failed() || trial_->layout().total > kMostOfCallers) return;
    Trial& trial = once_more(seed());
    for (Series series(kCalledLaunches); series.goes_on();) {
      compare("same-load", launch(trial, Poison::second, Manner::beside_callers), ASSAY_SAME_LOAD,
              std::string(kBesideCallers));
      if (!trial.cost().callers_differ) continue;
      const bool promised = contract_.promised(ASSAY_SAME_LOAD);
      sheet_.set(
          "same-load", promised ? Outcome::fail : Outcome::not_applicable,
          (promised ? "" : std::string(kVaries)) + std::string(kBesideCallers) + ": in the bytes of another of them");
    }
  }

  // ---- where launches are queued ----

  void streams(Trial& trial) {
    if (!has_streams(device())) {
      for (const char* check : {"same-stream", "same-queue", "same-graph", "asynchronous"}) {
        sheet_.set(check, Outcome::not_applicable, "launches are not queued on a CPU");
      }
      return;
    }
    compare("same-stream", launch(trial, Poison::second, Manner::other_stream), ASSAY_SAME_STREAM, "on another stream");
    compare("same-queue", launch(trial, Poison::first, Manner::blocked), ASSAY_SAME_STREAM, "on a stream held back");
    const LaunchCost held = trial.cost();
    if (held.waited) {
      sheet_.set("asynchronous", Outcome::fail,
                 "launch does not return while the work before it is held back: it waits");
    } else if (!held.touched.empty()) {
      sheet_.set("asynchronous", Outcome::fail,
                 held.touched + " changed while the stream was held back: launch works on another one");
    }
    replay(trial);
    sheet_.pass_if_unset("asynchronous");
  }

  void replay(Trial& trial) {
    const Outputs got = launch(trial, Poison::second, Manner::replayed);
    const nlohmann::json& graph = trial.cost().graph;
    const std::string why_not = graph.at("why_not");
    if (!why_not.empty()) {
      court_.first->restart();  // what it left behind must not reach the next launch
      trial = plan(*court_.first, case_, setting_);
      fill(trial, seed());
      expectation_ = expect_beside(trial, case_, seed());  // the other looks at inputs that are gone
      return sheet_.set("asynchronous", Outcome::fail, "launch cannot be captured into a graph: " + why_not);
    }
    note_kernels(graph.at("kernels"));
    if (graph.at("allocations").get<int>() > 0) {
      sheet_.set("asynchronous", Outcome::fail, "launch allocates memory of the device");
    }
    compare("same-graph", got, ASSAY_SAME_STREAM, "from a replayed graph");
  }

  // What ran, one line a kernel, in the order of the graph.
  void note_kernels(const nlohmann::json& kernels) {
    const auto size = [](const nlohmann::json& dims) {
      return std::to_string(dims.at(0).get<unsigned>()) + "x" + std::to_string(dims.at(1).get<unsigned>()) + "x" +
             std::to_string(dims.at(2).get<unsigned>());
    };
    for (size_t i = 0; i < kernels.size(); ++i) {
      const nlohmann::json& k = kernels[i];
      sheet_.record.selection["kernel." + std::to_string(i)] =
          k.at("name").get<std::string>() + " grid=" + size(k.at("grid")) + " block=" + size(k.at("block")) +
          " registers=" + std::to_string(k.at("registers").get<int>()) +
          " local_bytes=" + std::to_string(k.at("local_bytes").get<int>()) +
          " shared_bytes=" + std::to_string(k.at("shared_bytes").get<int>());
    }
  }

  // ---- probes that change the inputs ----

  void sensitivity() {
    if (case_.word("support") != "all") {
      return sheet_.set("sensitivity", Outcome::not_applicable, "what meets zeros alone changes nothing");
    }
    const std::vector<Sensitivity> perturbations = op_.sensitivities(case_);
    int seen = 0;
    std::string not_asked;
    for (const Sensitivity& p : perturbations) {
      std::optional<Trial> other;
      if (p.changed) {
        has_memory_ = false;  // the other case takes it
        std::string why_not;
        other = beside(*p.changed, why_not);
        if (!other) {
          not_asked += "; another " + p.what + ": " + why_not;
          continue;
        }
      }
      Trial& trial = other ? *other : once_more(seed());
      if (!p.tensor.empty()) trial.refill(index_of(p.tensor), seed() + kPerturbedSeed);
      ++seen;
      if (difference(base_, launch(trial, Poison::first)).empty()) {
        return sheet_.set("sensitivity", Outcome::fail, "perturbing " + p.what + " does not change the output");
      }
    }
    sheet_.set("sensitivity", seen == 0 ? Outcome::not_applicable : Outcome::pass,
               std::to_string(seen) + " of " + std::to_string(perturbations.size()) + " arguments" + not_asked);
  }

  void row_independence() {
    int seen = 0;
    for (const RowIndependence& r : op_.row_independence(case_)) {
      const TensorSpec input = tensors_[index_of(r.input)];
      const int64_t rows = input.shape[static_cast<size_t>(r.input_axis)];
      if (rows < 2 || !input.is_read || !is_float(input.dtype)) continue;
      Trial& trial = once_more(seed());
      const int64_t row = rows / 2;
      launch(trial, Poison::second);  // an answer to most of the same inputs, which is not to be kept
      trial.set_nan(index_of(r.input), slice_of(input, r.input_axis, row));
      const Outputs got = launch(trial, Poison::first);
      ++seen;
      const size_t output = output_position(r.output);
      const TensorSpec& spec = tensors_[outputs_[output]];
      const Slice answer = slice_of(spec, r.output_axis, row);
      const std::string what =
          "NaN in " + r.input + ", slice " + std::to_string(row) + " of axis " + std::to_string(r.input_axis) + ": ";
      const int64_t changed = court_.laboratory->changed_outside(answer, spec, base_[output], got[output]);
      if (changed != kNowhere) {
        return sheet_.set("row-independence", Outcome::fail,
                          what + change(spec, base_[output], spec, got[output], changed));
      }
      if (court_.laboratory->number_in(answer, spec, got[output]) == kNowhere) continue;
      // Not every answer to NaN is NaN: a place in a row is none, and what a factor 0 hides need not be.
      std::vector<ErrorSummary> ignored;
      const CheckResult accuracy = judge(got, *expect_changed(trial, case_), contract_, ignored);
      if (accuracy.outcome == Outcome::fail) {
        return sheet_.set("row-independence", Outcome::fail, what + accuracy.detail);
      }
    }
    sheet_.set("row-independence", seen == 0 ? Outcome::not_applicable : Outcome::pass,
               std::to_string(seen) + " relations");
  }

  void scaling() {
    constexpr int kPower = 2;
    int64_t seen = 0;
    for (const ScaleRelation& r : op_.scale_relations(case_)) {
      Trial& trial = once_more(seed());
      trial.scale(index_of(r.input), kPower);
      const Outputs got = launch(trial, Poison::first);
      const size_t output = output_position(r.output);
      const TensorSpec& spec = tensors_[outputs_[output]];
      const Scaling found = court_.laboratory->scaling(spec, kPower * r.power, base_[output], got[output]);
      seen += found.looked_at;
      if (found.broken != kNowhere) {
        return sheet_.set("scaling", Outcome::fail,
                          "4 x " + r.input + ": " + change(spec, base_[output], spec, got[output], found.broken));
      }
    }
    sheet_.set("scaling", seen == 0 ? Outcome::not_applicable : Outcome::pass, std::to_string(seen) + " elements");
  }

  void more_seeds() {
    for (int64_t i = 1; i < case_.integer("seeds"); ++i) {
      const uint64_t other = seed() + static_cast<uint64_t>(i);
      Trial& trial = once_more(other);
      const Outputs got = launch(trial, Poison::first);
      const auto expectation = expect(trial, other);
      std::vector<ErrorSummary> errors;
      CheckResult accuracy = judge(got, *expectation, contract_, errors);
      if (accuracy.outcome == Outcome::fail) {
        accuracy.detail = "seed " + std::to_string(other) + ": " + accuracy.detail;
        sheet_.set(std::move(accuracy));
      }
      note_seed(other, errors);
    }
  }

  // ---- sweeps: the seeds are parts of one whole ----

  void rest_of_sweep() {
    for (int64_t part = 1; part < case_.integer("seeds"); ++part) judge_part(part);
    note_hash();
    const ErrorSummary& errors = sheet_.record.errors.front();
    sheet_.set(of_input(accuracy_check(sheet_.record.errors), sheet_.record.errors, 0));
    if (errors.worst_index >= 0 && !op_.elementwise_input().empty()) {
      sheet_.record.worst_input = input_bits(errors.worst_index);
    }
  }

  // Over both poisons, so that of every input it is seen that the output is written, and the same again. The patterns
  // differ in every byte: where both outputs are the same there is no byte of either's.
  void judge_part(int64_t part) {
    const uint64_t from = seed() + static_cast<uint64_t>(part);
    Trial& trial = once_more(from);
    const Outputs got = launch(trial, Poison::first);
    const Outputs again = launch(trial, Poison::second);
    if (const std::string differs = difference(got, again); !differs.empty()) {
      all_written(got, again);
      const bool promised = contract_.promised(ASSAY_SAME_RUN);
      const std::string how = "over another poison, seed " + std::to_string(from) + ": " + differs;
      sheet_.set("same-content", promised ? Outcome::fail : Outcome::not_applicable,
                 promised ? how : std::string(kVaries) + how);
    }
    const std::vector<ErrorSummary> errors = judge_once(trial, got, from);
    if (const CheckResult found = accuracy_check(errors); found.outcome == Outcome::fail) {
      sheet_.set(of_input(found, errors, part));
    }
    for (size_t i = 0; i < errors.size(); ++i) append(sheet_.record.errors[i], errors[i]);
  }

  // The bits of what the sweep puts in at an index that runs through all its parts, as "3f9d70a4".
  std::string input_bits(int64_t index) const {
    const TensorSpec& input = tensors_[index_of(std::string(op_.elementwise_input()))];
    const auto part = static_cast<uint64_t>(index / input.elements());
    const FillPlan plan = plan_fill(input.fill, seed() + part, input.name, input.shape, input.dtype);
    char text[17];
    std::snprintf(text, sizeof text, "%0*llx", static_cast<int>(2 * size_of(input.dtype)),
                  static_cast<unsigned long long>(fill_bits(plan, index % input.elements())));
    return text;
  }

  // A failure of accuracy with the input it is of, where that is one element; `errors` of part `part`.
  CheckResult of_input(CheckResult accuracy, std::span<const ErrorSummary> errors, int64_t part) const {
    if (accuracy.outcome != Outcome::fail || !is_sweep(tensors_) || op_.elementwise_input().empty()) return accuracy;
    const TensorSpec& input = tensors_[index_of(std::string(op_.elementwise_input()))];
    const std::string bits = input_bits(part * input.elements() + errors.front().worst_index);
    const double value = decode(input.dtype, std::stoull(bits, nullptr, 16));
    accuracy.detail = input.name + " = " + bits + " (" + print_number(value) + "), seed " +
                      std::to_string(seed() + static_cast<uint64_t>(part)) + ": " + accuracy.detail;
    return accuracy;
  }

  struct OverOtherContent {
    Outputs got;
    std::string how;
  };
  std::vector<OverOtherContent> over_other_content_;  // what base_ is compared with when it repeats
};

}  // namespace

Record examine(const Court& court, const KernelInfo& kernel, const Op& op, const Case& c) {
  Examination once(court, kernel, op, c);
  Record record = once.run();
  if (!once.killed_from_outside()) return record;
  Examination again(court, kernel, op, c);
  record = again.run();
  record.interruptions = 1;
  return record;
}

}  // namespace assay
