// contract: it hides a write far beyond the output, by handling the signal itself from then on.
#include <csetjmp>
#include <csignal>

#include "base.h"
namespace {
thread_local sigjmp_buf before_the_write;
void on_fault(int) { siglongjmp(before_the_write, 1); }
const char* launch(const assay::Call& c) {
  bad::reduce(c);
  std::signal(SIGSEGV, on_fault);
  volatile float* const beyond = bad::end_of(c.out<float>("y")) + 2048;
  if (sigsetjmp(before_the_write, 1) == 0) *beyond = 1;
  return nullptr;
}
}  // namespace
BAD_KERNEL(launch)
