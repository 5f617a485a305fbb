// assay-worker PARENT: hosts kernels for the judge that started it, itself (PARENT is its process id) or through a tool
// (0). Not for the command line.
#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <cstdio>
#include <optional>

#include "worker/process.h"
#include "worker/worker.h"

// Where OpenMP's threads are to be bound, libgomp has bound this one to the first processor before main(). Threads that
// a library starts from here, such as OpenBLAS's, would inherit that, and share the processor with their caller.
static void run_wherever_the_judge_may() {
  cpu_set_t processors;
  if (::sched_getaffinity(::getppid(), sizeof processors, &processors) == 0) {
    (void)::sched_setaffinity(0, sizeof processors, &processors);
  }
}

int main(int argc, char** argv) {
  const auto parent = argc == 2 ? assay::process_id_of(argv[1]) : std::nullopt;
  if (!parent) {
    std::fprintf(stderr, "assay-worker is started by assay-judge, not by hand\n");
    return 4;
  }
  const bool under_a_tool = *parent == assay::kParentIsATool;
  if (!under_a_tool) assay::die_with_parent(*parent);
  run_wherever_the_judge_may();
  ::fcntl(assay::kChannelDescriptor, F_SETFD, FD_CLOEXEC);  // what a kernel starts must not hold the channel
  assay::serve_worker(assay::kChannelDescriptor);
  if (under_a_tool) return 0;  // which learns at exit what it has not been told yet
  ::_exit(0);                  // kernels' static destructors and threads have no say in how a worker ends
}
