// Where a timing worker puts the threads of its kernels' pools.
#include "worker/own_threads.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <atomic>
#include <thread>
#include <vector>

#include "affinity.h"

namespace assay {
namespace {

using ::testing::ElementsAre;
void keep_to(pid_t thread, const Processors& processors) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int processor : processors) CPU_SET(processor, &set);
  EXPECT_EQ(::sched_setaffinity(thread, sizeof set, &set), 0);
}

// Sleeps until the end, and may run where what started it may.
class Thread {
 public:
  Thread() : thread_([this] { run(); }) { id_.wait(0); }
  ~Thread() {
    end_ = true;
    end_.notify_one();
    thread_.join();
  }
  Thread(const Thread&) = delete;
  Thread& operator=(const Thread&) = delete;
  pid_t id() const { return id_; }

 private:
  void run() {
    id_ = ::gettid();
    id_.notify_one();
    end_.wait(false);
  }

  std::atomic<pid_t> id_{0};
  std::atomic<bool> end_{false};
  std::thread thread_;
};

class PlaceOwnThreads : public ::testing::Test {
 protected:
  void SetUp() override {
    if (all_.size() < 2) GTEST_SKIP() << "with one processor there is nothing to choose";
  }
  void TearDown() override { keep_to(0, all_); }
  const Processors all_ = processors_of(0), others_{all_.begin() + 1, all_.end()};
  OwnThreads own_;
};

TEST_F(PlaceOwnThreads, APoolsThreadsKeepOffTheCallersProcessor) {
  const Thread first, second;
  for (int turn = 0; turn < 3; ++turn) {
    own_.place();
    EXPECT_EQ(processors_of(first.id()), others_);
    EXPECT_EQ(processors_of(second.id()), others_);
  }
}

// Else what a launch starts itself would share the caller's processor, and be timed so.
TEST_F(PlaceOwnThreads, WhatTheCallerStartsLaterMayRunOnAll) {
  const Thread before;
  own_.place();
  EXPECT_EQ(processors_of(0), all_);
  const Thread later;
  EXPECT_EQ(processors_of(later.id()), all_);
  own_.place();
  EXPECT_EQ(processors_of(later.id()), others_);
}

// Such as the team of a thread that a kernel has launch for it.
TEST_F(PlaceOwnThreads, WhatAPlacedThreadStartedIsLetGo) {
  const Thread placed;
  own_.place();
  keep_to(0, others_);  // as the placed thread is, whose heir inherits that
  const Thread heir;
  keep_to(0, all_);
  for (int turn = 0; turn < 3; ++turn) {
    own_.place();
    EXPECT_EQ(processors_of(placed.id()), others_);
    EXPECT_EQ(processors_of(heir.id()), all_);
  }
}

TEST_F(PlaceOwnThreads, WhatIsLetGoMayRunOnAllUntilItIsPlacedAgain) {
  const Thread first;
  own_.place();
  EXPECT_TRUE(own_.has_placed());
  own_.let_go();
  EXPECT_FALSE(own_.has_placed());
  EXPECT_EQ(processors_of(first.id()), all_);
  own_.place();
  EXPECT_EQ(processors_of(first.id()), others_);
}

TEST_F(PlaceOwnThreads, AThreadThatKeepsToSomeProcessorsIsLeftThere) {
  const Thread pinned, other;
  keep_to(pinned.id(), {all_[0]});
  for (int turn = 0; turn < 3; ++turn) {
    own_.place();
    EXPECT_THAT(processors_of(pinned.id()), ElementsAre(all_[0]));
  }
}

TEST_F(PlaceOwnThreads, UsesNoProcessorThatTheCallerMayNotUse) {
  keep_to(0, {all_[1]});
  const Thread inherits;
  own_.place();
  EXPECT_THAT(processors_of(inherits.id()), ElementsAre(all_[1]));
  EXPECT_THAT(processors_of(0), ElementsAre(all_[1]));
}

}  // namespace
}  // namespace assay
