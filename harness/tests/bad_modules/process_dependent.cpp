// nondeterministic: another sign of zero in the second process of one judge.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <string>

#include "base.h"
namespace {
bool is_second_process() {
  const std::string name = "/assay_bad_" + std::to_string(::getppid());
  const int fresh = ::shm_open(name.c_str(), O_CREAT | O_EXCL | O_RDWR, 0600);
  if (fresh < 0) ::shm_unlink(name.c_str());
  return fresh < 0;
}
const char* launch(const assay::Call& c) {
  bad::reduce(c);
  static const bool second = is_second_process();
  if (second) bad::negate_first_zero(c);
  return nullptr;
}
}  // namespace
BAD_KERNEL(launch)
