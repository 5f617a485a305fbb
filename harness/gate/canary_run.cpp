#include "gate/canary_run.h"

#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "core/error.h"

namespace assay {
namespace {

class Turns {
 public:
  explicit Turns(std::array<size_t, 2> judged) : judged_(judged) {}

  void wait(size_t side) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return gone_[1 - side] || is_next(side); });
  }
  void judged(size_t side) {
    change([&] { ++judged_[side]; });
  }
  void leave(size_t side) {
    change([&] { gone_[side] = true; });
  }

 private:
  bool is_next(size_t side) const {
    if (judged_[0] != judged_[1]) return judged_[side] < judged_[1 - side];
    return judged_[0] % 2 == side;
  }
  template <class Action>
  void change(const Action& action) {
    const std::lock_guard lock(mutex_);
    action();
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::array<size_t, 2> judged_;
  std::array<bool, 2> gone_{};
};

// Of one side: waits for its turn before each case, and gives it away after.
class InTurn : public RunObserver {
 public:
  InTurn(Turns& turns, size_t side, RunObserver* told) : turns_(turns), side_(side), told_(told) {}

  void started(const PlannedCase& planned) override {
    turns_.wait(side_);
    if (told_ != nullptr) told_->started(planned);
  }
  void recorded(const PlannedCase& planned, const Record& record) override {
    if (told_ != nullptr) told_->recorded(planned, record);
    turns_.judged(side_);
  }
  void judge_died(const PlannedCase& planned, const std::string& how) override {
    if (told_ != nullptr) told_->judge_died(planned, how);
  }

 private:
  Turns& turns_;
  const size_t side_;
  RunObserver* const told_;
};

using Jobs = std::array<RunJob, 2>;
using Endings = std::array<RunEnding, 2>;

// Both sides at once. In turn: one case at a time.
Endings run_pair(Jobs jobs, bool in_turn) {
  Turns turns({jobs[0].recorded.size(), jobs[1].recorded.size()});
  std::array<RunEnding, 2> endings;
  std::array<std::exception_ptr, 2> failures;
  std::atomic<bool> has_failed = false;
  const auto run = [&](size_t side) {
    InTurn observer(turns, side, jobs[side].observer);
    if (in_turn) jobs[side].observer = &observer;
    jobs[side].stop_asked = [&has_failed, asked = jobs[side].stop_asked] { return has_failed || (asked && asked()); };
    try {
      endings[side] = run_plan(jobs[side]);
    } catch (...) {
      failures[side] = std::current_exception();
      has_failed = true;
    }
    turns.leave(side);
  };
  {
    const std::jthread candidate([&] { run(1); });
    run(0);
  }
  for (const std::exception_ptr& failure : failures) {
    if (failure) std::rethrow_exception(failure);
  }
  return endings;
}

void add(const Endings& more, Endings& endings) {
  for (size_t side = 0; side < endings.size(); ++side) {
    endings[side].stopped = endings[side].stopped || more[side].stopped;
    endings[side].libraries.insert(endings[side].libraries.end(), more[side].libraries.begin(),
                                   more[side].libraries.end());
  }
}

// Tells another of one thing at a time, and not of a record that is not kept.
class OneAtATime : public RunObserver {
 public:
  OneAtATime(std::mutex& mutex, RunObserver* told) : mutex_(mutex), told_(told) {}
  void started(const PlannedCase& planned) override {
    const std::lock_guard lock(mutex_);
    if (told_ != nullptr) told_->started(planned);
  }
  void recorded(const PlannedCase& planned, const Record& record) override {
    const std::lock_guard lock(mutex_);
    if (told_ != nullptr && !is_known_alone(record)) told_->recorded(planned, record);
  }
  void judge_died(const PlannedCase& planned, const std::string& how) override {
    const std::lock_guard lock(mutex_);
    if (told_ != nullptr) told_->judge_died(planned, how);
  }

 private:
  std::mutex& mutex_;
  RunObserver* const told_;
};

// Pairs beside each other, and the records that they have made so far.
class JudgePairs {
 public:
  explicit JudgePairs(const Jobs& jobs) : jobs_(jobs), recorded_{jobs[0].recorded, jobs[1].recorded} {
    for (size_t i = 0; i < jobs[0].plan->cases.size(); ++i) {
      for (size_t side = 0; side < jobs.size(); ++side) {
        const PlannedCase& one = jobs[side].plan->cases[i];
        (may_be_beside_others(one) ? together_ : alone_)[side].push_back(one.id);
      }
    }
  }

  void run(int pairs) {
    {
      std::vector<std::jthread> helpers;
      for (int pair = 1; pair < pairs; ++pair) helpers.emplace_back([this, pair, pairs] { run_share(pair, pairs); });
      run_share(0, pairs);
    }
    if (failure_) std::rethrow_exception(failure_);
  }

  const std::set<std::string>& recorded(size_t side) const { return recorded_[side]; }
  const Endings& endings() const { return endings_; }

 private:
  // Every pairs-th of the cases that may be judged beside others.
  void run_share(int pair, int pairs) {
    Jobs share = jobs_;
    std::array<std::unique_ptr<OneAtATime>, 2> observers;
    for (size_t side = 0; side < share.size(); ++side) {
      observers[side] = std::make_unique<OneAtATime>(telling_, jobs_[side].observer);
      RunJob& job = share[side];
      job.jobs = 1;
      job.beside_others = true;
      job.observer = observers[side].get();
      job.recorded.insert(alone_[side].begin(), alone_[side].end());
      for (size_t i = 0; i < together_[side].size(); ++i) {
        if (i % static_cast<size_t>(pairs) != static_cast<size_t>(pair)) job.recorded.insert(together_[side][i]);
      }
      job.append = [this, side](const Record& record) { append(side, record); };
      job.stop_asked = [this, side] { return has_failed_ || jobs_[side].stop_asked(); };
    }
    try {
      const Endings endings = run_pair(std::move(share), false);
      const std::lock_guard lock(mutex_);
      add(endings, endings_);
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!failure_) failure_ = std::current_exception();
      has_failed_ = true;
    }
  }

  void append(size_t side, const Record& record) {
    if (is_known_alone(record)) return;
    const std::lock_guard lock(mutex_);
    jobs_[side].append(record);
    recorded_[side].insert(record.kernel_id);
  }

  const Jobs& jobs_;
  std::array<std::vector<std::string>, 2> together_, alone_;
  std::mutex mutex_, telling_;
  std::array<std::set<std::string>, 2> recorded_;
  Endings endings_;
  std::atomic<bool> has_failed_ = false;
  std::exception_ptr failure_;
};

}  // namespace

std::array<RunEnding, 2> run_in_turn(std::array<RunJob, 2> jobs) {
  if (jobs[0].jobs != jobs[1].jobs) throw Error("the sides of a canary judge as many cases at a time");
  Endings endings;
  if (jobs[0].jobs > 1) {
    JudgePairs pairs(jobs);
    pairs.run(jobs[0].jobs);
    endings = pairs.endings();
    if (endings[0].stopped || endings[1].stopped) return endings;
    for (size_t side = 0; side < jobs.size(); ++side) {
      jobs[side].recorded = pairs.recorded(side);
      jobs[side].jobs = 1;
    }
  }
  add(run_pair(std::move(jobs), true), endings);
  return endings;
}

}  // namespace assay
