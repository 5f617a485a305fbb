// nondeterministic: another sign of zero while the judge keeps the machine busy.
#include <unistd.h>

#include <fstream>
#include <string>

#include "base.h"
namespace {
// The judge's threads: those that make load come on top of the few it always has.
int threads_of_judge() {
  std::ifstream status("/proc/" + std::to_string(::getppid()) + "/status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind("Threads:", 0) == 0) return std::stoi(line.substr(8));
  }
  return 0;
}
const char* launch(const assay::Call& c) {
  static const int at_first = threads_of_judge();
  bad::reduce(c);
  const bool busy = threads_of_judge() >= at_first + 2;
  if (busy) bad::negate_first_zero(c);
  return nullptr;
}
}  // namespace
ASSAY_KERNEL(
    reduce, bad, .launch = launch, .contract = [] {
      assay_contract contract = bad::kContract;
      contract.promises |= ASSAY_SAME_LOAD;
      contract.may_allocate = 1;
      return contract;
    }())
