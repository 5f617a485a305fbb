// assay-worker PARENT: hosts kernels for the judge that started it. Not for the command line.
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "worker/process.h"
#include "worker/worker.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "assay-worker is started by assay-judge, not by hand\n");
    return 4;
  }
  assay::die_with_parent(std::atoi(argv[1]));
  ::fcntl(assay::kChannelDescriptor, F_SETFD, FD_CLOEXEC);  // what a kernel starts must not hold the channel
  assay::serve_worker(assay::kChannelDescriptor);
  ::_exit(0);  // kernels' static destructors and threads have no say in how a worker ends
}
