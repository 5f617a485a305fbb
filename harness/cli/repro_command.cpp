// repro: one case on one kernel, every check printed. Leaves no run behind.
#include <fmt/format.h>

#include <algorithm>

#include "cli/commands.h"
#include "cli/conclusion.h"
#include "cli/interrupt.h"
#include "cli/job.h"
#include "cli/loaded.h"
#include "cli/paths.h"
#include "cli/progress.h"
#include "cli/trees.h"
#include "core/error.h"
#include "gate/filter.h"
#include "gate/nearest.h"
#include "record/verdict.h"

namespace assay {
namespace {

void print_check(const CheckResult& result, const Palette& palette) {
  const bool failed = result.outcome == Outcome::fail;
  fmt::print("  {}{:<14}{} {:<17} {}\n", failed ? palette.bad : palette.dull, word_of(result.outcome), palette.end,
             result.check, result.detail);
}

void print_record(const Record& record, bool explain) {
  const Palette palette = palette_for(stdout);
  const bool good = exit_code_of(record.verdict) == 0;
  fmt::print("{}\n{}{}{}{}{}\n", record.kernel_id, good ? palette.good : palette.bad, word_of(record.verdict),
             palette.end, record.reason.empty() ? "" : "  ", record.reason);
  fmt::print("\nchecks:\n");
  for (const CheckResult& result : record.checks) print_check(result, palette);
  for (const ErrorSummary& error : record.errors) {
    fmt::print("\noutput {}: {} elements ({} exact, {} rigorous, {} weak, {} vacuous, {} no evidence), {} outside\n",
               error.tensor, error.elements, error.exact, error.rigorous, error.weak, error.vacuous, error.no_evidence,
               error.failures);
    fmt::print("  |error|/bound: largest {:.4g}, rms {:.4g}, mean {:+.4g}; misrounded {:.4g}\n", error.max_q,
               error.rms_q, error.mean_signed_q, error.misrounded);
    if (error.worst_index >= 0) {
      fmt::print("  worst: {}[{}] got {:.17g}, want {:.17g}, bound {:.4g}\n", error.tensor, error.worst_index,
                 error.worst_got, error.worst_want, error.worst_bound);
    }
  }
  fmt::print("\nselection:\n");
  for (const auto& [key, value] : record.selection) {
    if (key.rfind("candidate.", 0) != 0) fmt::print("  {}: {}\n", key, value);
  }
  if (explain) {
    const std::string candidates = candidates_text(record);
    fmt::print("\ncandidates: {}", candidates.empty() ? "none, this kernel is no dispatcher\n" : candidates);
  }
  fmt::print("\nowner: {}\nworkspace: {} bytes\noutput hash: {}\n", record.owner.empty() ? "unknown" : record.owner,
             record.workspace_bytes, record.output_hash);
}

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

}  // namespace

int repro_command(const Options& options) {
  const Trees trees = find_trees(options);
  const Policy policy = read_policy(trees.policy());
  const OpRegistry ops = make_op_registry();
  note_interrupts();
  const Loaded loaded =
      load_modules(judge_process(limited(judge_settings(options), policy)), module_files(options), ops);
  const Filter filter(options.id, ops, loaded.kernels);
  const std::string missing = missing_fields(options.id, ops);
  if (!filter.exact() && !missing.empty()) {
    throw UsageError("repro: '" + options.id + "' is not one kernel id: it lacks " + missing);
  }
  if (!filter.exact() || is_glob(options.id) || parse_id(options.id).kernel.empty()) {
    throw UsageError("repro: '" + options.id +
                     "' is not one kernel id; one looks like gemm/simd:m=8,n=8,k=8,dtype=f32");
  }
  const Plan plan = make_plan(ops, loaded.kernels, {}, plan_request(options));
  std::vector<Record> records;
  const Goldens goldens(trees.golden(), ops, platforms_of(options, loaded));
  goldens.require_truth(trees.ops_with_truth(plan));
  RunJob job = make_job(options, policy, plan, goldens);
  job.libraries = loaded.libraries;
  job.start_judge = loaded.start_judge;
  job.append = [&](const Record& record) { records.push_back(record); };
  job.stop_asked = [] { return interrupt_signal() != 0; };
  if (run_plan(job).stopped) return 128 + interrupt_signal();
  for (const Record& record : records) print_record(record, options.explain);
  return records.size() == 1 ? exit_code_of(records[0].verdict) : 4;
}

}  // namespace assay
