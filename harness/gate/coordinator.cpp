#include "gate/coordinator.h"

#include <algorithm>
#include <deque>
#include <exception>
#include <map>
#include <mutex>
#include <thread>
#include <tuple>
#include <utility>

#include "core/clock.h"
#include "core/error.h"
#include "gate/goldens.h"
#include "gate/program.h"
#include "record/verdict.h"

namespace assay {
namespace {

// Nobody chose a drawn case: that it proves little is counted, and says nothing against a tier or a kernel.
void excuse_draw(Record& record) {
  for (CheckResult& result : record.checks) {
    if (result.check != "trust" || result.outcome != Outcome::fail) continue;
    result = check_result("trust", Outcome::weak, result.detail);
  }
}

void fail_check(Record& record, std::string_view check, const std::string& detail) {
  for (CheckResult& result : record.checks) {
    if (result.check != check) continue;
    if (result.outcome != Outcome::fail) result = check_result(check, Outcome::fail, detail);
    return;
  }
}

// Cases that one runner, or several, take in order.
struct Pile {
  std::deque<const PlannedCase*> cases;
  size_t runners = 0, judged = 0;
  double seconds = 0;  // those judged took
};

// The cases of a plan that have no record yet, handed out one by one, and what has become of them.
class Desk {
 public:
  // For runners beside each other: what is known only alone goes to `again`, unrecorded. A pile a module: a judge that
  // turns to another module begins its workers anew, which on a GPU takes as long as ten cases.
  Desk(const RunJob& job, const std::vector<const PlannedCase*>& cases, std::vector<const PlannedCase*>& again)
      : job_(job), size_(cases.size()), again_(&again) {
    std::map<std::filesystem::path, size_t> pile_of;
    for (const PlannedCase* planned : cases) {
      const size_t pile = pile_of.try_emplace(job.plan->kernel_of(*planned).module, piles_.size()).first->second;
      if (pile == piles_.size()) piles_.emplace_back();
      piles_[pile].cases.push_back(planned);
    }
  }
  // For one runner, in the plan's order: and then those that the job adds to the plan.
  Desk(const RunJob& job, const std::vector<const PlannedCase*>& cases)
      : job_(job), size_(cases.size()), grows_(job.more != nullptr) {
    piles_.emplace_back().cases.assign(cases.begin(), cases.end());
  }
  Company company() const { return again_ == nullptr && !job_.beside_others ? Company::none : Company::others; }
  int size() const { return static_cast<int>(size_); }

  // Of `pile`, which a runner keeps to while there is something on it; null at first. Null when none is left, when a
  // stop was asked for and when another thread has failed.
  const PlannedCase* next(Pile*& pile) {
    const std::lock_guard lock(mutex_);
    if (pile == nullptr || pile->cases.empty()) pile = largest_share();
    if (failure_ || (pile == nullptr && !grows_)) return nullptr;
    if (job_.stop_asked()) {
      stopped_ = true;
      return nullptr;
    }
    const PlannedCase* planned = nullptr;
    if (pile == nullptr) {
      planned = added();
    } else {
      planned = pile->cases.front();
      pile->cases.pop_front();
    }
    if (planned == nullptr) return nullptr;
    if (job_.observer != nullptr) job_.observer->started(*planned);
    return planned;
  }

  // What came of a case of `pile`, if of any, after so many seconds. The case in flight when a stop is asked for is
  // dropped.
  void take(const PlannedCase& planned, const Record& record, Pile* pile, double seconds) {
    const std::lock_guard lock(mutex_);
    if (pile != nullptr) {
      ++pile->judged;
      pile->seconds += seconds;
    }
    if (job_.stop_asked()) {
      stopped_ = true;
      return;
    }
    if (again_ != nullptr && is_known_alone(record)) {
      again_->push_back(&planned);
      return;
    }
    job_.append(record);
    if (job_.observer != nullptr) job_.observer->recorded(planned, record);
  }

  void judge_died(const PlannedCase& planned, const std::string& how) {
    const std::lock_guard lock(mutex_);
    if (job_.observer != nullptr) job_.observer->judge_died(planned, how);
  }

  void fail(std::exception_ptr failure) {
    const std::lock_guard lock(mutex_);
    if (!failure_) failure_ = std::move(failure);
  }

  // Throws what a thread has thrown.
  bool stopped() {
    const std::lock_guard lock(mutex_);
    if (failure_) std::rethrow_exception(failure_);
    return stopped_;
  }

 private:
  // Where one more runner finds most to do, and nobody else if there is such a pile; null: nowhere. A library may
  // compile each plan, which takes a hundred times as long as the rest of a small case.
  Pile* largest_share() {
    constexpr double kSmallCase = 0.05;  // seconds
    const auto share = [](const Pile& pile) {
      const double of_a_case = (kSmallCase + pile.seconds) / static_cast<double>(1 + pile.judged);
      return of_a_case * static_cast<double>(pile.cases.size()) / static_cast<double>(1 + pile.runners);
    };
    const auto worth = [&](const Pile& pile) {
      return std::tuple(!pile.cases.empty(), pile.runners == 0, share(pile));
    };
    const auto most = std::ranges::max_element(piles_, {}, worth);
    if (most == piles_.end() || most->cases.empty()) return nullptr;
    ++most->runners;
    return &*most;
  }

  const PlannedCase* added() {
    while (job_.more()) {
      const PlannedCase& last = job_.plan->cases.back();
      if (!job_.recorded.contains(last.id)) return &last;
    }
    return nullptr;
  }

  const RunJob& job_;
  const size_t size_;
  std::vector<Pile> piles_;
  std::vector<const PlannedCase*>* const again_ = nullptr;
  const bool grows_ = false;
  std::mutex mutex_;
  bool stopped_ = false;
  std::exception_ptr failure_;
};

// One judge and the cases it takes from the desk.
class Runner {
 public:
  explicit Runner(const RunJob& job) : job_(job) {}

  void run(Desk& desk) {
    desk_ = &desk;
    Pile* pile = nullptr;
    while (const PlannedCase* planned = desk.next(pile)) {
      const auto began = Clock::now();
      const Record record = judged(*planned);
      desk.take(*planned, record, pile, seconds_since(began));
    }
  }

  std::vector<LoadedLibrary> libraries() {
    if (!judge_) return {};
    try {
      return judge_->libraries();
    } catch (const JudgeDied&) {
      return {};  // run.json then lists none, which readers show as unknown
    }
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
        desk_->judge_died(planned, e.what());
      }
    }
    return error_record(planned, "the judge died twice over this case: " + deaths);
  }

  Record judged_once(const KernelInfo& kernel, const PlannedCase& planned) {
    Record record;
    try {
      load(kernel);
      record = judge_->check(kernel, planned.c, desk_->company());
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
    if (job_.more) excuse_draw(record);
    conclude(record);
    if (refused && record.verdict == Verdict::pass) {
      record.verdict = Verdict::unsupported;
      record.reason = refusal;
    }
    excuse(kernel, record);
  }

  void excuse(const KernelInfo& kernel, Record& record) const {
    const auto brought = computing_libraries(job_.libraries, kernel.module.filename().string());
    apply_known_issues(job_.policy->known_issues, brought, job_.environment, job_.today, record);
  }

  void time(const KernelInfo& kernel, const PlannedCase& planned, Record& record) {
    std::string reason = "the judge gave none";
    const auto began = Clock::now();
    try {
      judge_->sample(kernel, planned.c, job_.sampling, record);
    } catch (const JudgeDied&) {
      throw;
    } catch (const std::exception& e) {
      reason = e.what();
      record.latency.clear();
    }
    conclude(record);  // a launch that was timed may have failed a check
    if (record.verdict != Verdict::pass) excuse(kernel, record);
    record.seconds["sample"] = seconds_since(began);
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

  const RunJob& job_;
  Desk* desk_ = nullptr;
  std::unique_ptr<Judge> judge_;
  std::set<std::filesystem::path> loaded_;  // by judge_
};

}  // namespace

bool is_known_alone(const Record& record) {
  if (exit_code_of(record.verdict) == 1 || record.verdict == Verdict::error) return false;
  return std::any_of(record.checks.begin(), record.checks.end(), [](const CheckResult& result) {
    return result.outcome == Outcome::skipped && result.detail.starts_with(kGrewInCompany);
  });
}

bool may_be_beside_others(const PlannedCase& planned) { return !planned.timed && !planned.large; }

RunEnding run_plan(const RunJob& job) {
  std::vector<const PlannedCase*> together, alone;
  for (const PlannedCase& planned : job.plan->cases) {
    if (job.recorded.contains(planned.id)) continue;
    (job.jobs > 1 && may_be_beside_others(planned) ? together : alone).push_back(&planned);
  }
  RunEnding ending;
  std::mutex mutex;  // of ending.libraries
  const auto work = [&](Runner& runner, Desk& desk, bool is_last) {
    try {
      runner.run(desk);
      if (!is_last || desk.stopped()) return;
      const std::vector<LoadedLibrary> seen = runner.libraries();
      const std::lock_guard lock(mutex);
      ending.libraries.insert(ending.libraries.end(), seen.begin(), seen.end());
    } catch (...) {
      desk.fail(std::current_exception());
    }
  };
  Runner runner(job);
  Desk first(job, together, alone);
  {
    std::vector<std::jthread> helpers;
    for (int i = 1; i < std::min(job.jobs, first.size()); ++i) {
      helpers.emplace_back([&] {
        Runner helper(job);
        work(helper, first, true);
      });
    }
    work(runner, first, false);
  }
  std::ranges::sort(alone);  // as the plan has them: what was put off came in no order
  Desk last(job, alone);
  if (!first.stopped()) work(runner, last, true);
  // A stop after the last case may have kept the judges from telling their libraries.
  ending.stopped = first.stopped() || last.stopped() || job.stop_asked();
  return ending;
}

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
