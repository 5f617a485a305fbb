#include "worker/hold_ups.h"

#include <signal.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <string>

namespace assay {
namespace {

constexpr int kMost = 64;  // of one launch, so that a long one ends
constexpr long kLeastPeriod = 20'000, kPeriods = 40'000, kLeastSleep = 5'000, kSleeps = 100'000;  // nanoseconds

std::atomic<int> left{0};

// A number below `end`: the clock's low digits, mixed (the multiplier is SplitMix64's).
long below(long end) {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  const uint64_t mixed = static_cast<uint64_t>(now.tv_nsec) * 0x9e3779b97f4a7c15u;
  return static_cast<long>((mixed >> 33) % static_cast<uint64_t>(end));
}

void hold_up(int) {
  if (left.load(std::memory_order_relaxed) <= 0 || left.fetch_sub(1, std::memory_order_relaxed) <= 0) return;
  const int before = errno;
  const timespec pause{0, kLeastSleep + below(kSleeps)};
  ::nanosleep(&pause, nullptr);
  errno = before;
}

int signal_number() { return SIGRTMAX - 3; }  // those at either end are used by libraries and debuggers

std::vector<pid_t> own_threads() {
  std::vector<pid_t> threads;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) {
    threads.push_back(std::stoi(entry.path().filename()));
  }
  return threads;
}

}  // namespace

HoldUps::HoldUps() {
  const std::vector<pid_t> threads = own_threads();
  if (threads.size() < 2) return;
  struct sigaction action {};
  action.sa_handler = hold_up;
  action.sa_flags = SA_RESTART;
  ::sigaction(signal_number(), &action, nullptr);
  left = kMost;
  for (const pid_t thread : threads) {
    sigevent event{};
    event.sigev_notify = SIGEV_THREAD_ID;
    event.sigev_signo = signal_number();
    event._sigev_un._tid = thread;
    timer_t timer{};
    if (::timer_create(CLOCK_MONOTONIC, &event, &timer) != 0) continue;  // it has ended
    timers_.push_back(timer);
    const itimerspec times{{0, kLeastPeriod + below(kPeriods)}, {0, 1 + below(kLeastPeriod)}};
    ::timer_settime(timer, 0, &times, nullptr);
  }
}

HoldUps::~HoldUps() {
  left = 0;
  for (const timer_t timer : timers_) ::timer_delete(timer);
}

}  // namespace assay
