// worker/hold_ups.h: threads are stopped while it lives, and nowhere else.
#include "worker/hold_ups.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <filesystem>
#include <iterator>
#include <latch>
#include <thread>

namespace assay {
namespace {

// Without an interruption it would sleep for an hour, and the test's deadline would end it.
TEST(HoldUps, AThreadIsInterruptedWhereverItIs) {
  std::latch started(1);
  std::atomic<int> result{0}, error{0};
  std::thread sleeper([&] {
    started.count_down();
    const timespec hour{3600, 0};
    const int returned = ::nanosleep(&hour, nullptr);
    error = errno;
    result = returned;
  });
  started.wait();
  while (true) {  // the first may come before it sleeps
    const HoldUps hold_ups;
    const timespec moment{0, 5'000'000};
    ::nanosleep(&moment, nullptr);
    if (result != 0) break;
  }
  sleeper.join();
  EXPECT_EQ(result, -1);
  EXPECT_EQ(error, EINTR);
}

TEST(HoldUps, AloneAThreadIsLeftAlone) {
#ifdef ASSAY_SANITIZED
  const std::filesystem::directory_iterator threads("/proc/self/task");
  if (std::distance(begin(threads), end(threads)) > 1) GTEST_SKIP() << "the sanitizer has a thread of its own";
#endif
  const HoldUps hold_ups;
  const timespec moment{0, 5'000'000};
  EXPECT_EQ(::nanosleep(&moment, nullptr), 0);
}

}  // namespace
}  // namespace assay
