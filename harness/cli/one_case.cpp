#include "cli/one_case.h"

#include <algorithm>
#include <type_traits>
#include <utility>

#include "cli/canary_sets.h"
#include "cli/interrupt.h"
#include "cli/job.h"
#include "cli/paths.h"
#include "core/error.h"
#include "gate/bundle.h"
#include "gate/filter.h"
#include "gate/nearest.h"

namespace assay {
namespace {

// "n (elements summed), dtype (type)": the fields without a default that the id does not give; empty without one op.
std::string missing_fields(const std::string& id, const OpRegistry& ops) {
  const ParsedId parsed = parse_id(id);
  const Op* op = ops.find(parsed.op);
  std::string missing;
  for (const FieldSpec& field : op == nullptr ? std::vector<FieldSpec>{} : op->all_fields()) {
    const auto is_it = [&](const auto& given) { return given.first == field.name; };
    if (field.fallback || std::any_of(parsed.fields.begin(), parsed.fields.end(), is_it)) continue;
    missing += (missing.empty() ? "" : ", ") + field.name + " (" + field.doc + ")";
  }
  return missing;
}

Case case_named(const Options& options, const OpRegistry& ops, const std::vector<KernelInfo>& kernels) {
  const Filter filter(options.id, ops, kernels);
  const std::string missing = missing_fields(options.id, ops);
  if (!filter.exact() && !missing.empty()) {
    throw UsageError(options.command + ": '" + options.id + "' is not one kernel id: it lacks " + missing);
  }
  if (!filter.exact() || is_glob(options.id) || parse_id(options.id).kernel.empty()) {
    throw UsageError(options.command + ": '" + options.id +
                     "' is not one kernel id; one looks like gemm/simd:m=8,n=8,k=8,dtype=f32");
  }
  return *filter.exact();
}

Loaded load(const Options& options, const JudgeSettings& settings, const OpRegistry& ops) {
  note_interrupts();
  return load_modules(judge_process(settings), module_files(options), ops);
}

}  // namespace

OneCase::OneCase(const Options& options)
    : options_(options),
      trees_(find_trees(options)),
      policy_(read_policy(trees_.policy())),
      settings_(make_settings()),
      ops_(make_op_registry()),
      loaded_(load(options, settings_, ops_)),
      goldens_(trees_.golden(), ops_, platforms_of(options, loaded_)),
      kernel_(parse_id(options.id).kernel),
      asked_(among(loaded_, [&] { return case_named(options, ops_, loaded_.kernels); })),
      start_(lending(loaded_.start_judge)) {}

JudgeSettings OneCase::make_settings() const {
  JudgeSettings settings = limited(judge_settings(options_), policy_);
  settings.stop_asked = [this] { return is_cut_short(); };
  return settings;
}

bool OneCase::is_cut_short() const { return interrupt_signal() != 0 || Clock::now() >= end_; }

void OneCase::set_deadline(double seconds) {
  settings_.deadline_seconds = seconds;
  start_ = lending(judge_process(settings_));
}

Record OneCase::judge(const Case& c) const {
  Options options = options_;
  options.id = c.kernel_id(kernel_);
  PlanRequest request = plan_request(options);
  request.filters = {options.id};
  const Plan plan = make_plan(ops_, loaded_.kernels, {}, request);
  goldens_.require_truth(trees_.ops_with_truth(plan));
  return judge_one(options, policy_, plan, goldens_, loaded_, start_, [this] { return is_cut_short(); });
}

bool OneCase::looks_right(const Case& c, Verification by) const {
  try {
    const std::unique_ptr<Judge> judge = start_();
    const Screened seen = judge->screen(info(), {&c, 1}, by).at(0);
    return seen.verdict == Verdict::pass && seen.refused.empty() && seen.unverified.empty();
  } catch (const std::runtime_error&) {
    return false;  // the judge died, or is a new one, which has loaded nothing: judge() loads it
  }
}

const KernelInfo& OneCase::info() const {
  const auto is_it = [&](const KernelInfo& k) { return k.op == asked_.op() && k.name == kernel_; };
  const auto found = std::ranges::find_if(loaded_.kernels, is_it);
  if (found == loaded_.kernels.end()) throw Error("no kernel " + kernel_);
  return *found;
}

// The kernel's own where it makes no plan: then there is no answer to hold against a bound.
Contract OneCase::contract_in_force(const Case& c) const {
  try {
    const std::unique_ptr<Judge> judge = start_();
    load_steadily(*judge, info().module);
    return judge->plan_contract(info(), c);
  } catch (const std::runtime_error&) {
    return info().contract;
  }
}

std::vector<std::string> OneCase::library_contradictions(const Record& record) const {
  if (options_.library_version.empty()) return {};
  return assay::library_contradictions(options_, settings_.library_set, loaded_.libraries, {record});
}

std::string OneCase::write_bundle(const Case& c, const Record& record, const std::filesystem::path& folder) const {
  const Contract contract = contract_in_force(c);
  const BundleOf what{.op = op(),
                      .failing = c,
                      .kernel = info(),
                      .contract = contract,
                      .record = record,
                      .threads = settings_.threads,
                      .deadline_seconds = make_settings().deadline_seconds,
                      .library_path = settings_.library_path};
  assay::write_bundle(what, folder);
  return why_not_shown(what);
}

}  // namespace assay
