// Where the file that DETACHED names is absent or empty, its launch starts a process that nothing holds, writes its id
// there, and hangs; else it is a good kernel. For kill_test.py: whatever is killed meanwhile, that process must not
// survive.
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "base.h"
namespace {
const char* launch(const assay::Call& c) {
  const char* file = std::getenv("DETACHED");
  struct stat facts {};
  if (file != nullptr && (::stat(file, &facts) != 0 || facts.st_size == 0)) {
    if (::fork() == 0) {
      ::setsid();
      const pid_t detached = ::fork();
      if (detached != 0) {
        std::ofstream(file) << detached << "\n";
        ::_exit(0);
      }
      ::sleep(600);
      ::_exit(0);
    }
    ::sleep(600);
  }
  bad::reduce(c);
  return nullptr;
}
}  // namespace
BAD_KERNEL(launch)
