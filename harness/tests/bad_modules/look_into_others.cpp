// pass: it would write the memory of the judge, where the right answer is, and of who started that. It may not, and
// neither may a program that it starts.
#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <string>
#include <utility>

#include "base.h"
namespace {
int parent_of(int pid) {
  std::string number, name, state;
  int parent = 0;
  std::ifstream("/proc/" + std::to_string(pid) + "/stat") >> number >> name >> state >> parent;
  return parent;
}
bool may_write(const std::string& file) {
  const int opened = ::open(file.c_str(), O_RDWR | O_CLOEXEC);
  if (opened >= 0) ::close(opened);
  // NOLINTNEXTLINE(bugprone-command-processor): a program is what it is about
  return opened >= 0 || std::system((": 2>/dev/null <>" + file).c_str()) == 0;
}
const char* launch(const assay::Call& c) {
  bad::reduce(c);
  static bool has_looked = false;
  if (std::exchange(has_looked, true)) return nullptr;
  if (!may_write("/proc/self/mem")) return "it cannot look at all";
  const int judge = ::getppid(), coordinator = parent_of(judge);
  if (coordinator <= 1) return "who started the judge is not known";
  if (may_write("/proc/" + std::to_string(judge) + "/mem")) return "it may write the judge's memory";
  if (may_write("/proc/" + std::to_string(coordinator) + "/mem")) return "it may write the coordinator's memory";
  return nullptr;
}
}  // namespace
BAD_KERNEL(launch)
