#include "worker/own_threads.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "measure/sampler.h"

namespace assay {
namespace {

// In the order of their numbers, which is that in which they were started until numbers are used anew.
std::vector<pid_t> other_threads() {
  std::vector<pid_t> threads;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) {
    const std::string name = entry.path().filename();
    pid_t thread = 0;
    std::from_chars(name.data(), name.data() + name.size(), thread);
    if (thread != ::gettid()) threads.push_back(thread);
  }
  std::sort(threads.begin(), threads.end());
  return threads;
}

// Computes, or would if it were given a processor.
bool is_busy(pid_t thread) {
  std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/stat");
  std::string stat;
  std::getline(file, stat);
  const size_t name_end = stat.rfind(')');  // a name may have blanks: proc(5)
  return name_end != std::string::npos && stat.compare(name_end, 3, ") R") == 0;
}

cpu_set_t only(int processor) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(processor, &set);
  return set;
}

}  // namespace

void place_own_threads() {
  cpu_set_t all;
  if (::sched_getaffinity(0, sizeof all, &all) != 0) return;  // more processors than a cpu_set_t holds
  std::vector<int> processors;
  for (int i = 0; i < CPU_SETSIZE; ++i) {
    if (CPU_ISSET(i, &all)) processors.push_back(i);
  }
  if (processors.size() < 2) return;
  const cpu_set_t first = only(processors.front());
  (void)::sched_setaffinity(0, sizeof first, &first);
  (void)::sched_setaffinity(0, sizeof all, &all);
  size_t index = 0;
  for (const pid_t thread : other_threads()) {
    const cpu_set_t own = only(processors[1 + index++ % (processors.size() - 1)]);
    cpu_set_t may;
    if (::sched_getaffinity(thread, sizeof may, &may) != 0 || !CPU_EQUAL(&may, &all)) continue;
    (void)::sched_setaffinity(thread, sizeof own, &own);  // one that has ended meanwhile is none
  }
}

void wait_for_own_threads() {
  constexpr int64_t kGiveUpNs = 100'000'000;
  constexpr timespec kPause{0, 100'000};
  const auto any_is_busy = [] {
    const std::vector<pid_t> threads = other_threads();
    return std::any_of(threads.begin(), threads.end(), is_busy);
  };
  for (const int64_t begin = now_ns(); any_is_busy() && now_ns() - begin < kGiveUpNs;) ::nanosleep(&kPause, nullptr);
}

}  // namespace assay
