// What a timing worker does around the samples of one plan.
#include "worker/timing.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace assay {
namespace {

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

nlohmann::json time_with(Pool& pool) {
  const auto device = make_worker_device(Device::cpu);
  return time_launches({{"label", "op/k:m=1"},
                        {"warm", 20},
                        {"cold", 0},
                        {"around", false},
                        {"seconds", 0.01},
                        {"turns", 4},
                        {"single", nlohmann::json::array()}},
                       *device, {}, [&] { pool.wake(); });
}

TEST(TimeLaunches, EndsWhenTheThreadsThatAKernelWokeAreAtRest) {
  Pool pool(20'000'000);
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(sample_set_from_json(time_with(pool).at("warm")).nanoseconds.size(), 5u);
    EXPECT_FALSE(pool.is_spinning()) << "the next process's turn would be timed beside it";
  }
}

TEST(TimeLaunches, DoesNotWaitForEverForThreadsThatNeverRest) {
  Pool pool(1'000'000'000'000);
  EXPECT_EQ(sample_set_from_json(time_with(pool).at("warm")).nanoseconds.size(), 5u);
  EXPECT_TRUE(pool.is_spinning());
}

}  // namespace
}  // namespace assay
