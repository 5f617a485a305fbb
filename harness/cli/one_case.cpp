#include "cli/one_case.h"

#include <algorithm>
#include <type_traits>
#include <utility>

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

// A judge that outlives the run it is given to, and is given to the next one unless it died.
class Lent : public Judge {
 public:
  explicit Lent(std::shared_ptr<std::unique_ptr<Judge>> judge) : judge_(std::move(judge)) {}
  std::vector<KernelInfo> load(const std::filesystem::path& module) override {
    return unless_it_dies([&] { return (*judge_)->load(module); });
  }
  Record check(const KernelInfo& kernel, const Case& c) override {
    return unless_it_dies([&] { return (*judge_)->check(kernel, c); });
  }
  std::vector<Screened> screen(const KernelInfo& kernel, std::span<const Case> cases) override {
    return unless_it_dies([&] { return (*judge_)->screen(kernel, cases); });
  }
  Probed probe(const KernelInfo& kernel, const Case& c, const std::string& output, bool fresh) override {
    return unless_it_dies([&] { return (*judge_)->probe(kernel, c, output, fresh); });
  }
  Contract plan_contract(const KernelInfo& kernel, const Case& c) override {
    return unless_it_dies([&] { return (*judge_)->plan_contract(kernel, c); });
  }
  void sample(const KernelInfo& kernel, const Case& c, const SamplePlan& plan, Record& record) override {
    unless_it_dies([&] { (*judge_)->sample(kernel, c, plan, record); });
  }
  std::vector<LoadedLibrary> libraries() override { return {}; }  // those of loading are known

 private:
  template <class Ask>
  std::invoke_result_t<Ask> unless_it_dies(const Ask& ask) {
    try {
      return ask();
    } catch (const JudgeDied&) {
      judge_->reset();
      throw;
    }
  }
  std::shared_ptr<std::unique_ptr<Judge>> judge_;
};

StartJudge lending(StartJudge start) {
  auto judge = std::make_shared<std::unique_ptr<Judge>>();
  return [start = std::move(start), judge] {
    if (*judge == nullptr) *judge = start();
    return std::make_unique<Lent>(judge);
  };
}

Loaded load(const Options& options, const Policy& policy, const OpRegistry& ops) {
  note_interrupts();
  return load_modules(judge_process(limited(judge_settings(options), policy)), module_files(options), ops);
}

}  // namespace

OneCase::OneCase(const Options& options)
    : options_(options),
      trees_(find_trees(options)),
      policy_(read_policy(trees_.policy())),
      ops_(make_op_registry()),
      loaded_(load(options, policy_, ops_)),
      goldens_(trees_.golden(), ops_, platforms_of(options, loaded_)),
      kernel_(parse_id(options.id).kernel),
      asked_(case_named(options, ops_, loaded_.kernels)),
      start_(lending(loaded_.start_judge)) {}

Record OneCase::judge(const Case& c) const {
  Options options = options_;
  options.id = c.kernel_id(kernel_);
  PlanRequest request = plan_request(options);
  request.filters = {options.id};
  const Plan plan = make_plan(ops_, loaded_.kernels, {}, request);
  goldens_.require_truth(trees_.ops_with_truth(plan));
  std::vector<Record> records;
  RunJob job = make_job(options, policy_, plan, goldens_);
  job.libraries = loaded_.libraries;
  job.start_judge = start_;
  job.append = [&](const Record& record) { records.push_back(record); };
  job.stop_asked = [] { return interrupt_signal() != 0; };
  if (run_plan(job).stopped) return {};
  if (records.size() != 1) throw Error(std::to_string(records.size()) + " records of one case");
  return std::move(records[0]);
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

std::string OneCase::write_bundle(const Case& c, const Record& record, const std::filesystem::path& folder) const {
  const JudgeSettings settings = limited(judge_settings(options_), policy_);
  const Contract contract = contract_in_force(c);
  const BundleOf what{.op = op(),
                      .failing = c,
                      .kernel = info(),
                      .contract = contract,
                      .record = record,
                      .threads = settings.threads,
                      .deadline_seconds = settings.deadline_seconds,
                      .library_path = settings.library_path};
  assay::write_bundle(what, folder);
  return why_not_shown(what);
}

}  // namespace assay
