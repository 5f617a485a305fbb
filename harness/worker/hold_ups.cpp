#include "worker/hold_ups.h"

#include <signal.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <string>

namespace assay {
namespace {

constexpr int kMost = 64;             // of one launch, so that a long one ends
constexpr size_t kMostThreads = 256;  // those beyond are left alone
constexpr long kLeastBetween = 20'000, kBetween = 40'000, kLeastSleep = 5'000, kSleeps = 100'000;  // nanoseconds

// What a signal handler can reach. A signal that comes late, from a timer that has ended, finds its place taken by
// another one at worst, which it sets anew.
std::atomic<int> left{0};
std::array<std::atomic<timer_t>, kMostThreads> timers{};

// A number below `end`: the clock's low digits, mixed (the multiplier is SplitMix64's).
long below(long end) {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  const uint64_t mixed = static_cast<uint64_t>(now.tv_nsec) * 0x9e3779b97f4a7c15u;
  return static_cast<long>((mixed >> 33) % static_cast<uint64_t>(end));
}

// Once: the handler sets it again when it is done, so that the thread gets on in between however slow signals are.
void set(timer_t timer) {
  const itimerspec times{{0, 0}, {0, kLeastBetween + below(kBetween)}};
  ::timer_settime(timer, 0, &times, nullptr);
}

void hold_up(int, siginfo_t* info, void*) {
  if (left.load(std::memory_order_relaxed) <= 0 || left.fetch_sub(1, std::memory_order_relaxed) <= 0) return;
  const int before = errno;
  const timespec pause{0, kLeastSleep + below(kSleeps)};
  ::nanosleep(&pause, nullptr);
  if (left.load(std::memory_order_relaxed) > 0) set(timers[static_cast<size_t>(info->si_value.sival_int)]);
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
  action.sa_sigaction = hold_up;
  action.sa_flags = SA_RESTART | SA_SIGINFO;
  ::sigaction(signal_number(), &action, nullptr);
  left = kMost;
  for (size_t i = 0; i < std::min(threads.size(), kMostThreads); ++i) {
    sigevent event{};
    event.sigev_notify = SIGEV_THREAD_ID;
    event.sigev_signo = signal_number();
    event.sigev_value.sival_int = static_cast<int>(i);
    event._sigev_un._tid = threads[i];
    timer_t timer{};
    if (::timer_create(CLOCK_MONOTONIC, &event, &timer) != 0) continue;  // it has ended
    timers_.push_back(timer);
    timers[i] = timer;
    set(timer);
  }
}

HoldUps::~HoldUps() {
  left = 0;
  for (const timer_t timer : timers_) ::timer_delete(timer);
}

}  // namespace assay
