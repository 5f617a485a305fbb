// assay-worker PARENT: hosts kernels for the judge that started it, itself (PARENT is its process id) or through a tool
// (0). Not for the command line.
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <optional>

#include "worker/process.h"
#include "worker/worker.h"

int main(int argc, char** argv) {
  const auto parent = argc == 2 ? assay::process_id_of(argv[1]) : std::nullopt;
  if (!parent) {
    std::fprintf(stderr, "assay-worker is started by assay-judge, not by hand\n");
    return 4;
  }
  const bool under_a_tool = *parent == assay::kParentIsATool;
  if (!under_a_tool) assay::die_with_parent(*parent);
  ::fcntl(assay::kChannelDescriptor, F_SETFD, FD_CLOEXEC);  // what a kernel starts must not hold the channel
  assay::serve_worker(assay::kChannelDescriptor);
  if (under_a_tool) return 0;  // which learns at exit what it has not been told yet
  ::_exit(0);                  // kernels' static destructors and threads have no say in how a worker ends
}
