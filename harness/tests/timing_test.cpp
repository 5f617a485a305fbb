// What a timing worker does around the samples of one plan.
#include "worker/timing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <iostream>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "affinity.h"
#include "code_rule.h"
#include "core/error.h"

namespace assay {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

// A pool of one thread: a launch wakes it, and it looks for more work for so long before it sleeps.
class Pool {
 public:
  explicit Pool(int64_t spins_ns) : spins_ns_(spins_ns), thread_([this] { work(); }) {}
  ~Pool() {
    end_ = true;
    wake();
    thread_.join();
  }
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  void wake() {
    last_ns_ = now_ns();
    ++launches_;
    launches_.notify_one();
  }
  bool is_spinning() const { return spinning_; }

 private:
  void work() {
    for (int64_t seen = 0; !end_; seen = launches_) {
      launches_.wait(seen);
      spinning_ = true;
      while (!end_ && now_ns() - last_ns_ < spins_ns_) continue;
      spinning_ = false;
    }
  }

  const int64_t spins_ns_;
  std::atomic<bool> end_{false}, spinning_{false};
  std::atomic<int64_t> last_ns_{0}, launches_{0};
  std::thread thread_;
};

// With time for all samples, whatever else the machine does.
nlohmann::json of_metric(const char* metric, bool others_follow = true) {
  return {{"label", "op/k:m=1"}, {"metric", metric}, {"samples", 20},
          {"seconds", 10},       {"enough", 0},      {"enough_seconds", 0},
          {"turns", 4},          {"single", false},  {"others_follow", others_follow}};
}

nlohmann::json time_with(Pool& pool, bool others_follow = true) {
  const auto device = make_worker_device(Device::cpu);
  OwnProcess process;
  return time_launches(of_metric("warm", others_follow), *device, process, {}, [&] { pool.wake(); });
}

TEST(TimeLaunches, EnoughSamplesOfAllTurnsMayTakeLongerThanOthers) {
  nlohmann::json asked = of_metric("warm", false);
  asked["samples"] = 200;
  asked["seconds"] = 1e-9;
  const auto taken = [&] {
    const auto device = make_worker_device(Device::cpu);
    OwnProcess process;
    return sample_set_from_json(time_launches(asked, *device, process, {}, [] {}).at("warm")).nanoseconds.size();
  };
  EXPECT_EQ(taken(), 3u) << "a quarter of the least";
  asked["enough"] = 50;
  asked["enough_seconds"] = 100;
  EXPECT_EQ(taken(), 13u) << "a quarter of these";
}

// A process that may not write to its own code can have no pages of its own of it.
TEST(TimeLaunches, AfterTheFirstCallTheProcessHasPagesOfItsOwn) {
  if (!has_code_rule()) GTEST_SKIP() << "this system has no rule that code is never written to (Linux 6.3)";
  const auto timed = [](const char* metric) {
    refuse_to_write_code();
    const auto device = make_worker_device(Device::cpu);
    OwnProcess process;
    try {
      time_launches(of_metric(metric), *device, process, {}, [] {});
    } catch (const NotGiven& e) {
      std::cerr << e.what();
      std::_Exit(3);
    }
    std::_Exit(0);
  };
  EXPECT_EXIT(timed("first_call"), ::testing::ExitedWithCode(0), "");
  for (const char* metric : {"warm", "cold"}) {
    EXPECT_EXIT(timed(metric), ::testing::ExitedWithCode(3), "no pages of its own");
  }
}

TEST(TimeLaunches, EndsWhenTheThreadsThatAKernelWokeAreAtRest) {
  Pool pool(20'000'000);
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(sample_set_from_json(time_with(pool).at("warm")).nanoseconds.size(), 5u);
    EXPECT_FALSE(pool.is_spinning()) << "the next process's turn would be timed beside it";
  }
}

TEST(TimeLaunches, ThreadsThatNeverRestFailWhereAnotherProcessIsTimedNext) {
  Pool pool(1'000'000'000'000);
  EXPECT_THAT([&] { time_with(pool); },
              ThrowsMessage<Error>(HasSubstr("its threads still compute a second after its last launch")));
  EXPECT_EQ(sample_set_from_json(time_with(pool, false).at("warm")).nanoseconds.size(), 5u) << "nobody is disturbed";
  EXPECT_TRUE(pool.is_spinning());
}

// As many threads as there are processors, each of which computes for a while at a launch, and the caller with them or
// not.
class Team {
 public:
  explicit Team(bool caller_computes) : caller_computes_(caller_computes) {
    for (size_t i = 0; i < processors_of(0).size(); ++i) threads_.emplace_back([this, i] { work(i); });
    for (const std::atomic<pid_t>& id : ids_) id.wait(0);
  }
  ~Team() {
    end_ = true;
    begin();
    for (std::thread& thread : threads_) thread.join();
  }
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  void launch() {
    left_ = static_cast<int64_t>(threads_.size());
    begin();
    if (caller_computes_) {
      while (left_ > 0) continue;  // and no lock, at which it would sleep behind the last thread
      return;
    }
    std::unique_lock lock(mutex_);  // an atomic's wait() would look again and again before it sleeps
    done_.wait(lock, [this] { return left_ == 0; });
  }
  Processors of_first() const { return processors_of(ids_[0]); }

 private:
  void begin() {
    ++launches_;
    launches_.notify_all();
  }
  void work(size_t i) {
    ids_[i] = ::gettid();
    ids_[i].notify_all();
    for (int64_t seen = 0;; ++seen) {
      launches_.wait(seen);
      if (end_) return;
      for (const int64_t start = now_ns(); now_ns() - start < 200'000;) continue;
      const std::lock_guard lock(mutex_);
      if (--left_ == 0) done_.notify_all();
    }
  }

  const bool caller_computes_;
  std::atomic<bool> end_{false};
  std::atomic<int64_t> launches_{0}, left_{0};
  std::vector<std::atomic<pid_t>> ids_ = std::vector<std::atomic<pid_t>>(processors_of(0).size());
  std::mutex mutex_;
  std::condition_variable done_;
  std::vector<std::thread> threads_;
};

TEST(TimeLaunches, ThreadsKeepOffTheCallersProcessorOnlyWhereItComputes) {
  const Processors all = processors_of(0);
  if (all.size() < 2) GTEST_SKIP() << "with one processor there is nothing to choose";
  const auto device = make_worker_device(Device::cpu);
  OwnProcess process;  // in which one kernel is timed after another
  for (const auto& [metric, caller_computes] :
       {std::pair{"warm", true}, {"warm", false}, {"cold", true}, {"cold", false}, {"warm", true}}) {
    Team team(caller_computes);
    nlohmann::json asked = of_metric(metric);
    asked["samples"] = 200;  // so that what a loaded machine does in a few launches is not most of them
    const auto samples = time_launches(asked, *device, process, {}, [&] { team.launch(); }).at(metric);
    EXPECT_FALSE(sample_set_from_json(samples).nanoseconds.empty());
    EXPECT_EQ(team.of_first(), caller_computes ? Processors(all.begin() + 1, all.end()) : all)
        << metric << caller_computes;
  }
}

// So that the answer which the judge reads is of that launch, and not of one before.
TEST(TimeLaunches, TheLastLaunchFindsItsBuffersAsTheFirstDid) {
  const auto device = make_worker_device(Device::cpu);
  for (const char* metric : {"first_call", "warm", "cold"}) {
    std::array<int, 3> output{1, 2, 3};
    std::vector<std::array<int, 3>> found;
    const Buffers buffers{.all = {{output.data(), sizeof output}}, .armed = {{output.data(), 2 * sizeof(int)}}};
    OwnProcess process;
    time_launches(of_metric(metric), *device, process, buffers, [&] {
      found.push_back(output);
      output = {7, 8, 9};
    });
    EXPECT_EQ(found.front(), (std::array{1, 2, 3}));
    if (metric == std::string("first_call")) {
      EXPECT_EQ(found.size(), 1u);
      continue;
    }
    EXPECT_GT(found.size(), 5u) << "samples";
    EXPECT_EQ(found.back(), (std::array{1, 2, 9})) << metric << ": what is armed, and no more";
    found.pop_back();
    EXPECT_EQ(found.back(), (std::array{7, 8, 9})) << metric << ": of those that are timed only the first";
  }
}

}  // namespace
}  // namespace assay
