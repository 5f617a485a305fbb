#include "gate/canary_run.h"

#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>

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

}  // namespace

std::array<RunEnding, 2> run_in_turn(std::array<RunJob, 2> jobs) {
  for (const RunJob& job : jobs) {
    if (job.jobs != 1) throw Error("a side of a canary judges one case at a time");
  }
  Turns turns({jobs[0].recorded.size(), jobs[1].recorded.size()});
  std::array<RunEnding, 2> endings;
  std::array<std::exception_ptr, 2> failures;
  std::atomic<bool> has_failed = false;
  const auto run = [&](size_t side) {
    InTurn observer(turns, side, jobs[side].observer);
    jobs[side].observer = &observer;
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

}  // namespace assay
