#include "worker/steps.h"

#include <signal.h>

#include "check/accuracy.h"
#include "core/error.h"
#include "worker/plan_contract.h"
#include "worker/verified_product.h"

namespace assay {

Steps::Steps(const Court& court, const KernelInfo& kernel, const Op& op, const Case& c)
    : court_(court), kernel_(kernel), op_(op), case_(c), truth_(is_sweep(op.tensors(c))) {
  Record& record = sheet_.record;
  record.kernel_id = c.kernel_id(kernel.name);
  record.op = kernel.op;
  record.kernel = kernel.name;
  record.target = kernel.target;
  record.owner = kernel.contract.owner;
  record.module_hash = kernel.module_hash;
  setting_ = {.threads = court.settings->threads,
              .offset = c.integer("offset"),
              .place = c.word("place") == "start" ? Place::start : Place::end};
}

Trial Steps::plan(Subject& subject, const Case& c, const Trial::Setting& setting) {
  const Stopwatch watch(sheet_.record, "prepare");
  return Trial(subject, *court_.memory, *court_.laboratory, kernel_, op_, c, setting);
}

// ---- what the contract says ----

std::optional<Trial> Steps::accepted() {
  unreached_ = "the contract check failed";
  if (const std::string why = op_.cap_violation(kernel_.contract); !why.empty()) {
    return refused("the op does not allow this contract: " + why);
  }
  if (const std::string mistake = domain_mistake(kernel_.contract, op_.all_fields()); !mistake.empty()) {
    return refused(mistake);
  }
  std::string not_claimed;
  try {
    not_claimed = unclaimed(kernel_.contract, case_);
  } catch (const UsageError& e) {
    return refused(e.what());
  }
  Trial trial = plan(*court_.first, case_, setting_);
  if (!trial.refusal().empty()) {
    if (trial.available() && not_claimed.empty()) {
      return refused("claims this case and refuses it: " + trial.refusal());
    }
    unreached_ = "unsupported";
    if (trial.available()) {
      sheet_.set("contract", Outcome::pass, "not claimed, and refused: " + trial.refusal());
    } else {
      sheet_.set("contract", Outcome::not_applicable, trial.refusal());
    }
    sheet_.record.verdict = Verdict::unsupported;
    sheet_.record.reason = trial.refusal();
    return std::nullopt;
  }
  if (!not_claimed.empty()) return refused("accepts what it does not claim: " + not_claimed);
  const bool is_dispatched = trial.selection().contains("chosen");  // its plan's contract is its choice's
  sheet_.set("contract", Outcome::pass, is_dispatched ? "" : looser_arithmetic(kernel_.contract, trial.contract()));
  note_selection(trial);
  return trial;
}

std::nullopt_t Steps::refused(const std::string& why) {
  refuse(why);
  return std::nullopt;
}

void Steps::refuse(const std::string& why) { sheet_.set("contract", Outcome::fail, why); }

void Steps::note_selection(const Trial& trial) {
  auto& selection = sheet_.record.selection;
  for (const auto& [key, value] : trial.selection().items()) selection[key] = value.get<std::string>();
  const std::string wanted = selection.count("fallback") == 0 ? "" : selection["fallback"];
  if (wanted.empty()) return sheet_.set("fallback", Outcome::pass);
  sheet_.set("fallback", kernel_.contract.may_fall_back ? Outcome::pass : Outcome::fail,
             "instead of " + wanted + ": " + selection["fallback_reason"]);
}

void Steps::map(Trial& trial, Addresses addresses) {
  const Stopwatch watch(sheet_.record, "map");
  trial.map(addresses);
}

void Steps::fill(Trial& trial, uint64_t from) {
  const Stopwatch watch(sheet_.record, "fill");
  trial.fill(from);
}

Outputs Steps::launch(Trial& trial, Poison poison, Manner manner, Before before) {
  const Stopwatch watch(sheet_.record, "launch");
  Outputs got = trial.launch(poison, manner, before);
  ++launches_;
  if (!trial.strays().guards.empty()) sheet_.set("guards", Outcome::fail, trial.strays().guards);
  if (!trial.strays().inputs.empty()) sheet_.set("inputs", Outcome::fail, trial.strays().inputs);
  return got;
}

std::unique_ptr<Expectation> Steps::expect(const Trial& trial, uint64_t from) {
  std::unique_ptr<Expectation> expectation = expect_beside(trial, case_, from);
  const Stopwatch watch(sheet_.record, "oracle");
  knows_truth_ = expectation->add_to(truth_) && knows_truth_;
  return expectation;
}

std::unique_ptr<Expectation> Steps::expect_beside(const Trial& trial, const Case& c, uint64_t from) {
  const Stopwatch watch(sheet_.record, "oracle");
  return expectation_of(*court_.settings, *court_.laboratory, op_, c, trial.contract(), from, trial.inputs());
}

std::unique_ptr<Expectation> Steps::expect_changed(const Trial& trial, const Case& c) {
  const Stopwatch watch(sheet_.record, "oracle");
  return court_.laboratory->expectation(op_, c, std::nullopt, court_.settings->threads, trial.inputs());
}

CheckResult Steps::judge(const Outputs& got, Expectation& expectation, const Contract& contract,
                         std::vector<ErrorSummary>& errors) {
  const Stopwatch watch(sheet_.record, "check");
  errors = expectation.judge(got, contract);
  CheckResult accuracy = accuracy_check(errors);
  if (const std::string how = expectation.how(); !how.empty()) accuracy.detail += "; " + how;
  return accuracy;
}

std::vector<ErrorSummary> Steps::judge_once(const Trial& trial, const Outputs& got, uint64_t from) {
  const Stopwatch watch(sheet_.record, "oracle");
  return court_.laboratory->judge_once(op_, case_, from, court_.settings->threads, trial.inputs(), got, contract_,
                                       truth_, hash_);
}

std::string Steps::difference(const Outputs& a, const Outputs& b) {
  const Stopwatch watch(sheet_.record, "check");
  for (size_t i = 0; i < outputs_.size(); ++i) {
    const TensorSpec& spec = tensors_[outputs_[i]];
    std::string found = describe(spec, court_.laboratory->difference(spec, a[i], b[i]));
    if (!found.empty()) return found;
  }
  return {};
}

std::string Steps::change(const TensorSpec& spec_before, const Content& before, const TensorSpec& spec_after,
                          const Content& after, int64_t i) const {
  const auto shown = [&](const TensorSpec& spec, const Content& content) {
    return print_number(decode(spec.dtype, court_.laboratory->element(spec, content, i)));
  };
  return spec_before.name + "[" + std::to_string(i) + "] " + shown(spec_before, before) + " became " +
         shown(spec_after, after);
}

bool Steps::all_written(const Outputs& once, const Outputs& again) {
  const Stopwatch watch(sheet_.record, "check");
  for (size_t i = 0; i < outputs_.size(); ++i) {
    const TensorSpec& spec = tensors_[outputs_[i]];
    // An inout that is read held a value before; what was not written there, accuracy sees.
    if (spec.role == Role::inout && spec.is_read) continue;
    const Unwritten found = court_.laboratory->unwritten(spec, once[i], again[i], contract_.promised(ASSAY_SAME_RUN));
    if (found.count == 0) continue;
    // Where the same bytes are promised the case fails all the same, since these runs differ.
    const int64_t differing = court_.laboratory->difference(spec, once[i], again[i]).count;
    if (!contract_.promised(ASSAY_SAME_RUN) || !may_be_by_chance(found, differing)) {
      sheet_.set("unwritten", Outcome::fail, describe(spec, found));
      return false;
    }
    sheet_.set("unwritten", Outcome::skipped,
               "not known: " + describe(spec, found) + ", or by chance, as " + std::to_string(differing) + " differ");
  }
  sheet_.pass_if_unset("unwritten");
  return true;
}

uint64_t Steps::hash_of(const Outputs& outputs, uint64_t before) {
  const Stopwatch watch(sheet_.record, "check");
  uint64_t hash = before;
  for (size_t i = 0; i < outputs_.size(); ++i) {
    const TensorSpec& spec = tensors_[outputs_[i]];
    hash = truth_.of_sweep() ? court_.laboratory->hash_by_chunks(spec, outputs[i], hash)
                             : court_.laboratory->hash(spec, outputs[i], hash);
  }
  return hash;
}

void Steps::add_to_hash(const Outputs& outputs) { hash_ = hash_of(outputs, hash_); }

void Steps::note_hash() {
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(hash_));
  sheet_.record.output_hash = text;
}

void Steps::note_output() {
  add_to_hash(base_);
  if (!is_sweep(tensors_)) note_hash();
  const Stopwatch watch(sheet_.record, "check");
  std::vector<OutputMajority> majorities;
  for (size_t i = 0; i < outputs_.size(); ++i) {
    const TensorSpec& spec = tensors_[outputs_[i]];
    majorities.push_back({&spec, court_.laboratory->majority(spec, base_[i])});
  }
  sheet_.set(trust_check(tensors_, majorities));
}

void Steps::note_seed(uint64_t from, const std::vector<ErrorSummary>& errors) {
  if (case_.integer("seeds") > 1 && !is_sweep(tensors_)) sheet_.record.seeds.push_back(seed_statistics(from, errors));
}

size_t Steps::index_of(const std::string& tensor) const {
  for (size_t i = 0; i < tensors_.size(); ++i) {
    if (tensors_[i].name == tensor) return i;
  }
  throw Error(std::string(op_.name()) + " names a tensor '" + tensor + "' that the case does not have");
}

size_t Steps::output_position(const std::string& tensor) const {
  for (size_t i = 0; i < outputs_.size(); ++i) {
    if (tensors_[outputs_[i]].name == tensor) return i;
  }
  throw Error(std::string(op_.name()) + ": '" + tensor + "' is no output");
}

CheckResult lost_at_launch(const ProcessLost& lost, const std::string& detail) {
  CheckResult result = check_result("launch", Outcome::fail, detail);
  if (lost.loss == Loss::device && lost.fault.value("access", false)) result.verdict = Verdict::memory;
  if (lost.loss == Loss::timeout) result.verdict = Verdict::timeout;
  if (lost.loss == Loss::memory) result.verdict = Verdict::memory;
  return result;
}

void Steps::lose(const ProcessLost& lost) {
  killed_from_outside_ = lost.loss == Loss::signal && lost.code == SIGKILL;
  CheckResult result = lost_at_launch(lost, std::string("the worker ") + lost.what() + " after " +
                                                std::to_string(launches_) + " good launches" + in_circumstances());
  if (const std::string stepped = where_it_stepped(lost.fault); !stepped.empty()) {
    result.detail += ": " + stepped;
    result.verdict = Verdict::memory;
  }
  sheet_.set(std::move(result));
}

std::string Steps::where_it_stepped(const nlohmann::json& fault) const {
  if (fault.is_null() || !fault.contains("region") || fault.at("region").get<int64_t>() == -1) return {};
  const std::string did = fault.at("write").get<int>() != 0 ? "wrote " : "read ";
  if (fault.at("region").get<int64_t>() == -2) return did + "where an earlier launch had its buffers, or far outside";
  const auto region = fault.at("region").get<size_t>();
  const std::string name = region < tensors_.size() ? tensors_[region].name : "workspace";
  const auto distance = fault.at("distance").get<int64_t>();
  return did +
         (distance > 0 ? "byte " + std::to_string(distance) + " beyond the end of "
                       : "byte " + std::to_string(-distance) + " before the start of ") +
         name;
}

void Steps::leave_no_process_behind() {
  const size_t seen = end_processes_left_by({court_.first, court_.second}, {court_.timing});
  if (seen == 0) return;
  if (CheckResult* growth = sheet_.find("growth")) growth->outcome = Outcome::pass;  // this says more
  sheet_.set("growth", Outcome::fail, "left processes behind: " + std::to_string(seen));
}

}  // namespace assay
