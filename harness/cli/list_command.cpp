// list: what there is. Kernels and their contracts come from the modules themselves, through a judge.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/job.h"
#include "cli/loaded.h"
#include "cli/paths.h"
#include "core/error.h"
#include "gate/filter.h"
#include "golden/stored_cases.h"
#include "record/json.h"
#include "record/json_text.h"
#include "record/verdict.h"

namespace assay {
namespace {

void print_checks() {
  for (const CheckRow& row : check_table()) {
    fmt::print("{:<17} {:<16} {}\n", row.check, word_of(row.verdict), row.meaning);
  }
}

void print_verdicts() {
  for (const VerdictRow& row : verdict_table())
    fmt::print("{:<16} exit {}  {}\n", row.word, row.exit_code, row.meaning);
}

void list_tables(const Options& options) {
  if (options.json) {
    nlohmann::json document = nlohmann::json::object();
    if (options.list_checks) document["checks"] = checks_to_json();
    if (options.list_verdicts) document["verdicts"] = verdicts_to_json();
    fmt::print("{}\n", print_json(document, 1));
    return;
  }
  if (options.list_checks) print_checks();
  if (options.list_verdicts) print_verdicts();
}

std::string joined(const std::vector<std::string>& words, const char* between) {
  std::string all;
  for (const std::string& word : words) all += (all.empty() ? "" : between) + word;
  return all;
}

std::string arithmetic_text(const assay_arithmetic& a) {
  if (a.accumulator == ASSAY_ACC_NONE) return "sums nothing";
  std::string text = accumulator_name(a.accumulator);
  if (a.accumulator == ASSAY_ACC_TENSOR) {
    text += fmt::format(" {}/{}/{}", a.tensor_terms, a.tensor_fraction, a.tensor_precision);
    if (a.tensor_promotion > 0) text += fmt::format(", to f32 every {}", a.tensor_promotion);
  }
  text += ", depth " + depth_text(a);
  if (a.split_k > 1) text += fmt::format(", split {} in {}", a.split_k, accumulator_name(a.partial_type));
  if (a.exp_kind == ASSAY_EXP_FAST) text += ", fast exp";
  if (a.exp_kind == ASSAY_EXP_BASE2) text += ", exp2";
  if (a.rescales_online != 0) text += ", online";
  if (a.flushes_subnormals != 0) text += ", flushes subnormals";
  return text;
}

// A cell of a Markdown table: '|' would end it.
std::string cell(std::string text) {
  for (size_t at = 0; (at = text.find('|', at)) != std::string::npos; at += 2) text.insert(at, "\\");
  return text;
}

// Why no case of it is judged: its op does not allow such a contract. Empty: it does.
std::string refusal_of(const OpRegistry& ops, const KernelInfo& kernel) {
  return ops.named(kernel.op).cap_violation(kernel.contract);
}

void list_contracts(const OpRegistry& ops, const std::vector<KernelInfo>& kernels) {
  fmt::print("| kernel | target | claims | arithmetic | promises | workspace | owner |\n");
  fmt::print("| --- | --- | --- | --- | --- | --- | --- |\n");
  for (const KernelInfo& kernel : kernels) {
    const Contract& c = kernel.contract;
    std::string notes = c.workspace_limit == 0 ? "none" : fmt::format("{} bytes at most", c.workspace_limit);
    if (c.may_allocate) notes += ", allocates";
    if (c.may_fall_back) notes += ", may fall back";
    const std::string refused = refusal_of(ops, kernel), claims = c.domain.empty() ? "everything" : c.domain;
    fmt::print("| {}/{} | {} | {} | {} | {} | {} | {} |\n", cell(kernel.op), cell(kernel.name), cell(kernel.target),
               cell(refused.empty() ? claims : "REFUSED: " + refused), arithmetic_text(c.arithmetic),
               c.promises == 0 ? "nothing" : joined(promise_names(c.promises), ", "), notes, cell(c.owner));
  }
}

void list_text(const OpRegistry& ops, const std::vector<KernelInfo>& kernels) {
  for (const auto& op : ops.all()) {
    fmt::print("{}  {}\n", op->name(), op->summary());
    for (const FieldSpec& field : op->all_fields()) {
      fmt::print("    :{:<8} {}{}{}\n", field.name, field.doc,
                 field.choices.empty() ? "" : " (" + joined(field.choices, ", ") + ")",
                 field.fallback ? "; default " + *field.fallback : "");
    }
    for (const KernelInfo& kernel : kernels) {
      if (kernel.op != op->name()) continue;
      const std::string refused = refusal_of(ops, kernel);
      fmt::print("  {}/{}  {}  {}{}\n", kernel.op, kernel.name, kernel.target, kernel.module.filename().string(),
                 refused.empty() ? "" : "  REFUSED: " + refused);
    }
  }
}

nlohmann::json kernels_to_json(const OpRegistry& ops, const std::vector<KernelInfo>& kernels) {
  nlohmann::json list = nlohmann::json::array();
  for (const KernelInfo& kernel : kernels) {
    list.push_back({{"op", kernel.op},
                    {"name", kernel.name},
                    {"target", kernel.target},
                    {"module", kernel.module.string()},
                    {"module_hash", kernel.module_hash},
                    {"contract", to_json(kernel.contract)},
                    {"refused", refusal_of(ops, kernel)}});
  }
  return list;
}

bool matches_any(const std::vector<Filter>& filters, const KernelInfo& kernel) {
  for (const Filter& filter : filters) {
    if (filter.matches_kernel(kernel)) return true;
  }
  return filters.empty();
}

}  // namespace

int list_command(const Options& options) {
  if (options.list_checks || options.list_verdicts) {
    list_tables(options);
    return 0;
  }
  const OpRegistry ops = make_op_registry();
  const Loaded loaded = load_modules(judge_process(judge_settings(options)), module_files(options), ops);
  const std::vector<Filter> filters = among(loaded, [&] { return filters_of(options.filters, ops, loaded.kernels); });
  std::vector<KernelInfo> kernels;
  for (const KernelInfo& kernel : loaded.kernels) {
    if (matches_any(filters, kernel)) kernels.push_back(kernel);
  }
  std::vector<std::string> cases;
  if (options.list_cases) {
    PlanRequest request = plan_request(options);
    request.stored = without_why(read_stored_cases(source_root(options) / "golden" / "cases", ops));
    const Plan plan = make_plan(ops, loaded.kernels, {}, request);
    for (const PlannedCase& planned : plan.cases) cases.push_back(planned.id);
  }
  if (options.json) {
    nlohmann::json document = {{"kernels", kernels_to_json(ops, kernels)}, {"broken_modules", loaded.broken}};
    if (options.list_cases) document["cases"] = cases;
    fmt::print("{}\n", print_json(document, 1));
  } else if (options.list_cases) {
    for (const std::string& id : cases) fmt::print("{}\n", id);
  } else if (options.list_contracts) {
    list_contracts(ops, kernels);
  } else {
    list_text(ops, kernels);
  }
  return tell_broken(loaded);
}

}  // namespace assay
