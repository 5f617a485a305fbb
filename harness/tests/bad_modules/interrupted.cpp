// nondeterministic: another sign of zero when a thread it keeps was held up while it sleeps.
#include <atomic>
#include <cerrno>
#include <chrono>
#include <ctime>
#include <thread>

#include "base.h"

namespace {
std::atomic<bool>& interrupted() {
  static std::atomic<bool> flag{false};
  return flag;
}
void keep_a_sleeper() {
  static const bool started = [] {
    std::thread([] {
      while (true) {
        const timespec moment{0, 100'000};
        if (::nanosleep(&moment, nullptr) != 0 && errno == EINTR) interrupted() = true;
      }
    }).detach();
    return true;
  }();
  (void)started;
}
const char* launch(const assay::Call& c) {
  keep_a_sleeper();
  interrupted() = false;
  bad::reduce(c);
  std::this_thread::sleep_for(std::chrono::milliseconds(1));
  if (interrupted()) bad::negate_first_zero(c);
  return nullptr;
}
}  // namespace
ASSAY_KERNEL(
    reduce, bad, .launch = launch, .contract = [] {
      assay_contract contract = bad::kContract;
      contract.promises |= ASSAY_SAME_LOAD | ASSAY_SAME_THREADS;
      contract.may_allocate = 1;
      return contract;
    }())
