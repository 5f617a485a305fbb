#include "worker/own_threads.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "measure/sampler.h"

namespace assay {
namespace {

std::vector<pid_t> other_threads() {
  std::vector<pid_t> threads;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) {
    const std::string name = entry.path().filename();
    pid_t thread = 0;
    std::from_chars(name.data(), name.data() + name.size(), thread);
    if (thread != ::gettid()) threads.push_back(thread);
  }
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

struct Processors {
  cpu_set_t all, begin, others;  // the caller's, the first of them, the rest
};

// Nothing where there is no choice, or more than a cpu_set_t holds.
std::optional<Processors> processors_of_caller() {
  Processors found;
  if (::sched_getaffinity(0, sizeof found.all, &found.all) != 0 || CPU_COUNT(&found.all) < 2) return std::nullopt;
  int first = 0;
  while (!CPU_ISSET(first, &found.all)) ++first;
  CPU_ZERO(&found.begin);
  CPU_SET(first, &found.begin);
  found.others = found.all;
  CPU_CLR(first, &found.others);
  return found;
}

}  // namespace

void OwnThreads::place() {
  const std::optional<Processors> processors = processors_of_caller();
  if (!processors) return;
  const auto& [all, begin, others] = *processors;
  (void)::sched_setaffinity(0, sizeof begin, &begin);
  (void)::sched_setaffinity(0, sizeof all, &all);
  std::set<pid_t> alive;
  for (const pid_t thread : other_threads()) {
    alive.insert(thread);
    cpu_set_t may;
    if (seen_.contains(thread) || ::sched_getaffinity(thread, sizeof may, &may) != 0) continue;
    const bool is_heir = CPU_EQUAL(&may, &others) && !seen_.empty();
    const cpu_set_t& wanted = is_heir ? all : others;
    // One that has ended meanwhile is none.
    if (is_heir || CPU_EQUAL(&may, &all)) (void)::sched_setaffinity(thread, sizeof wanted, &wanted);
  }
  seen_ = std::move(alive);
}

void OwnThreads::let_go() {
  const std::optional<Processors> processors = processors_of_caller();
  if (!processors) return;
  for (const pid_t thread : std::exchange(seen_, {})) {
    cpu_set_t may;
    if (::sched_getaffinity(thread, sizeof may, &may) != 0 || !CPU_EQUAL(&may, &processors->others)) continue;
    (void)::sched_setaffinity(thread, sizeof processors->all, &processors->all);
  }
}

bool OwnThreads::wait_until_at_rest() const {
  constexpr int64_t kGiveUpNs = 1'000'000'000;
  constexpr timespec kPause{0, 100'000};
  const int64_t begin = now_ns();
  while (true) {
    const std::vector<pid_t> threads = other_threads();
    if (std::none_of(threads.begin(), threads.end(), is_busy)) return true;
    if (now_ns() - begin > kGiveUpNs) return false;
    ::nanosleep(&kPause, nullptr);
  }
}

}  // namespace assay
