#include "gate/coordinator.h"

#include <chrono>

#include "core/error.h"
#include "gate/goldens.h"
#include "gate/program.h"
#include "record/verdict.h"

namespace assay {
namespace {

void fail_check(Record& record, std::string_view check, const std::string& detail) {
  for (CheckResult& result : record.checks) {
    if (result.check != check) continue;
    if (result.outcome != Outcome::fail) result = check_result(check, Outcome::fail, detail);
    return;
  }
}

class Runner {
 public:
  explicit Runner(const RunJob& job) : job_(job) {}

  RunEnding run() {
    RunEnding ending;
    for (const PlannedCase& planned : job_.plan->cases) {
      if (job_.recorded.contains(planned.id)) continue;
      if (job_.stop_asked()) {
        ending.stopped = true;
        break;
      }
      if (job_.observer != nullptr) job_.observer->started(planned);
      const Record record = judged(planned);
      if (job_.stop_asked()) {
        ending.stopped = true;
        break;
      }
      job_.append(record);
      if (job_.observer != nullptr) job_.observer->recorded(planned, record);
    }
    if (judge_ && !ending.stopped) ending.libraries = libraries();
    return ending;
  }

 private:
  Record judged(const PlannedCase& planned) {
    const KernelInfo& kernel = job_.plan->kernel_of(planned);
    std::string deaths;
    for (int attempt = 0; attempt < 2; ++attempt) {
      try {
        if (!judge_) judge_ = job_.start_judge();
        Record record = judged_once(kernel, planned);
        record.interruptions += attempt;
        return record;
      } catch (const JudgeDied& e) {
        judge_.reset();
        loaded_.clear();
        deaths += (deaths.empty() ? "" : "; then: ") + std::string(e.what());
        if (job_.stop_asked()) break;
        if (job_.observer != nullptr) job_.observer->judge_died(planned, e.what());
      }
    }
    return error_record(planned, "the judge died twice over this case: " + deaths);
  }

  Record judged_once(const KernelInfo& kernel, const PlannedCase& planned) {
    Record record;
    try {
      load(kernel);
      record = judge_->check(kernel, planned.c);
    } catch (const JudgeDied&) {
      throw;
    } catch (const std::exception& e) {
      return error_record(planned, std::string("the judge failed: ") + e.what());
    }
    if (record.kernel_id != planned.id) {
      return error_record(planned, "the judge answered for '" + record.kernel_id + "'");
    }
    record.repro = repro_of(planned);
    record.latency.clear();
    std::erase_if(record.late_libraries, computes_nothing);
    decide(kernel, record);
    if (planned.timed && record.verdict == Verdict::pass) time(kernel, planned, record);
    return record;
  }

  // A judge knows the kernels of the modules it loaded. One that changed on disk meanwhile is another kernel.
  void load(const KernelInfo& kernel) {
    if (loaded_.contains(kernel.module)) return;
    for (const KernelInfo& found : load_steadily(*judge_, kernel.module)) {
      if (found.op != kernel.op || found.name != kernel.name || found.module_hash != kernel.module_hash) continue;
      loaded_.insert(kernel.module);
      return;
    }
    throw Error(kernel.module.string() + " changed while the run went on");
  }

  void decide(const KernelInfo& kernel, Record& record) const {
    const bool refused = record.verdict == Verdict::unsupported;
    const std::string refusal = record.reason;
    check_caps(kernel, record);
    job_.apply_goldens(kernel, record);
    conclude(record);
    if (refused && record.verdict == Verdict::pass) {
      record.verdict = Verdict::unsupported;
      record.reason = refusal;
    }
    const auto brought = computing_libraries(job_.libraries, kernel.module.filename().string());
    apply_known_issues(job_.policy->known_issues, brought, job_.environment, job_.today, record);
  }

  void time(const KernelInfo& kernel, const PlannedCase& planned, Record& record) {
    std::string reason = "the judge gave none";
    const auto began = std::chrono::steady_clock::now();
    try {
      judge_->sample(kernel, planned.c, job_.sampling, record);
    } catch (const JudgeDied&) {
      throw;
    } catch (const std::exception& e) {
      reason = e.what();
      record.latency.clear();
    }
    record.seconds["sample"] = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    if (record.latency.empty() && record.verdict == Verdict::pass) {
      record.verdict = Verdict::error;
      record.reason = "passed, but has no latency: " + reason;
    }
    if (record.verdict != Verdict::pass) record.latency.clear();
  }

  Record error_record(const PlannedCase& planned, const std::string& reason) const {
    const KernelInfo& kernel = job_.plan->kernel_of(planned);
    Record record;
    record.kernel_id = planned.id;
    record.op = kernel.op;
    record.kernel = kernel.name;
    record.target = kernel.target;
    record.owner = kernel.contract.owner;
    record.module_hash = kernel.module_hash;
    for (const CheckRow& row : check_table()) {
      record.checks.push_back(check_result(row.check, Outcome::skipped, "the judge gave no answer"));
    }
    record.verdict = Verdict::error;
    record.reason = reason;
    record.repro = repro_of(planned);
    return record;
  }

  void check_caps(const KernelInfo& kernel, Record& record) const {
    const uint64_t limit = job_.policy->workspace_limit_bytes;
    if (kernel.contract.workspace_limit <= limit) return;
    fail_check(record, "contract",
               "declares a workspace of up to " + std::to_string(kernel.contract.workspace_limit) +
                   " bytes; policy allows " + std::to_string(limit));
  }

  std::string repro_of(const PlannedCase& planned) const {
    return shell_word(job_.program) + " repro " + shell_quoted(planned.id) +
           job_.repro_arguments(job_.plan->kernel_of(planned));
  }

  std::vector<LoadedLibrary> libraries() {
    try {
      return judge_->libraries();
    } catch (const JudgeDied&) {
      return {};  // run.json then lists none, which readers show as unknown
    }
  }

  const RunJob& job_;
  std::unique_ptr<Judge> judge_;
  std::set<std::filesystem::path> loaded_;  // by judge_
};

}  // namespace

RunEnding run_plan(const RunJob& job) { return Runner(job).run(); }

std::vector<std::string> reconcile(const Plan& plan, const std::set<std::string>& recorded) {
  std::set<std::string> planned;
  for (const PlannedCase& one : plan.cases) planned.insert(one.id);
  std::vector<std::string> differences;
  for (const std::string& id : planned) {
    if (!recorded.contains(id)) differences.push_back("planned but not recorded: " + id);
  }
  for (const std::string& id : recorded) {
    if (!planned.contains(id)) differences.push_back("recorded but not planned: " + id);
  }
  return differences;
}

}  // namespace assay
