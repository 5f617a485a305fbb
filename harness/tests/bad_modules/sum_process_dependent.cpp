// nondeterministic: sums in the other direction in every second process of one command, whatever judge it has.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <fstream>
#include <string>

#include "sum_base.h"
namespace {
std::string command_id() {  // the judge's parent
  std::ifstream stat("/proc/" + std::to_string(::getppid()) + "/stat");
  std::string judge, name, state, parent;
  stat >> judge >> name >> state >> parent;
  return parent;
}
bool is_second_process() {
  const std::string name = "/assay_bad_sum_" + command_id();
  const int fresh = ::shm_open(name.c_str(), O_CREAT | O_EXCL | O_RDWR, 0600);
  if (fresh < 0) ::shm_unlink(name.c_str());
  return fresh < 0;
}
const char* launch(const assay::Call& c) {
  static const bool second = is_second_process();
  bad::sum(c, second);
  return nullptr;
}
}  // namespace
BAD_SUM(launch)
