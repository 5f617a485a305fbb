// worker/manner.h and device/held_stream.h over a device that is a thread's imagination: what is queued on its stream
// runs when the stream is not held.
#include "worker/manner.h"

#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>
#include <vector>

#include "core/error.h"

namespace assay {
namespace {

class FakeDevice : public WorkerDevice {
 public:
  assay_device id() const override { return {2, 0}; }
  void take(const Block&) override {}
  void forget(uint64_t) override {}
  std::vector<void*> map(const std::vector<Region>&, Addresses) override { return {}; }
  ReservedRange reserved() const override { return {}; }
  void* stream() override { return &streams_[0]; }
  void* other_stream() override { return &streams_[1]; }
  void wait() override { ++waits; }
  int64_t memory_in_use() override { return 0; }
  void hold() override { held = true; }
  void release() override {
    const std::lock_guard lock(mutex_);
    held = false;
    released_.notify_all();
  }
  void let_strays_finish() override {}
  void queue_load() override { ++loads; }
  Captured capture_and_replay(const std::function<const char*()>& launch) override {
    const char* error = launch();
    return {.why_not = error == nullptr ? "" : error, .kernels = {{.name = "k", .registers = 7}}};
  }
  void wait_until_released() {
    std::unique_lock lock(mutex_);
    released_.wait(lock, [this] { return !held; });
  }

  bool held = false;
  int waits = 0, loads = 0;

 private:
  int streams_[2] = {};
  std::mutex mutex_;
  std::condition_variable released_;
};

const char* nothing(void*) { return nullptr; }

TEST(Manner, EachHasItsWord) {
  for (const Manner manner : {Manner::plain, Manner::held_up, Manner::beside_callers, Manner::other_stream,
                              Manner::beside_load, Manner::replayed, Manner::blocked}) {
    EXPECT_EQ(manner_named(name_of(manner)), manner);
  }
  EXPECT_THROW(manner_named("upside_down"), Error);
}

TEST(Manner, StreamsLoadAndErrors) {
  FakeDevice device;
  std::unique_ptr<HeldStream> held;
  void* seen = nullptr;
  const auto see = [&](void* stream) -> const char* {
    seen = stream;
    return nullptr;
  };
  launch_in(Manner::plain, device, held, see);
  EXPECT_EQ(seen, device.stream());
  launch_in(Manner::other_stream, device, held, see);
  EXPECT_EQ(seen, device.other_stream());
  launch_in(Manner::beside_load, device, held, see);
  EXPECT_EQ(device.loads, 1);
  EXPECT_EQ(device.waits, 3);
  EXPECT_EQ(launch_in(Manner::plain, device, held, [](void*) { return "no luck"; }).at("failed"), "no luck");
  EXPECT_EQ(held, nullptr);
}

TEST(Manner, AReplaySaysWhatTheGraphHoldsOrWhyThereIsNone) {
  FakeDevice device;
  std::unique_ptr<HeldStream> held;
  const auto graph = launch_in(Manner::replayed, device, held, nothing).at("graph");
  EXPECT_EQ(graph.at("why_not"), "");
  EXPECT_EQ(graph.at("kernels").at(0).at("registers"), 7);
  const auto refused = launch_in(Manner::replayed, device, held, [](void*) { return "not that"; });
  EXPECT_EQ(refused.at("graph").at("why_not"), "not that");
}

TEST(Manner, ABlockedLaunchStaysBlockedUntilItIsFinished) {
  FakeDevice device;
  std::unique_ptr<HeldStream> held;
  const auto answer = launch_in(Manner::blocked, device, held, nothing);
  EXPECT_EQ(answer.at("waited"), false);
  EXPECT_TRUE(device.held);
  EXPECT_EQ(device.waits, 0);
  finish_blocked(device, held);
  EXPECT_FALSE(device.held);
  EXPECT_EQ(device.waits, 1);
}

TEST(Manner, ALaunchThatWaitsForABlockedStreamIsLetGoAndTold) {
  FakeDevice device;
  std::unique_ptr<HeldStream> held;
  const auto answer = launch_in(Manner::blocked, device, held, [&](void*) -> const char* {
    device.wait_until_released();
    return nullptr;
  });
  EXPECT_EQ(answer.at("waited"), true);
}

TEST(Manner, ABlockedLaunchThatFailsHoldsNothingBack) {
  FakeDevice device;
  std::unique_ptr<HeldStream> held;
  EXPECT_EQ(launch_in(Manner::blocked, device, held, [](void*) { return "no luck"; }).at("failed"), "no luck");
  EXPECT_FALSE(device.held);
  EXPECT_EQ(held, nullptr);
}

TEST(HeldStream, LetsGoHoweverItEnds) {
  FakeDevice device;
  EXPECT_THROW(
      {
        const HeldStream held(device);
        EXPECT_TRUE(device.held);
        throw Error("while queuing");
      },
      Error);
  EXPECT_FALSE(device.held);
}

}  // namespace
}  // namespace assay
