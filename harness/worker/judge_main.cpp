// assay-judge PARENT MARK: judges kernels for the coordinator that started it. Not for the command line.
#include <fcntl.h>
#include <malloc.h>

#include <cstdio>
#include <optional>

#include "worker/judge.h"
#include "worker/process.h"

int main(int argc, char** argv) {
  const auto parent = argc == 3 ? assay::process_id_of(argv[1]) : std::nullopt;
  if (!parent) {
    std::fprintf(stderr, "assay-judge is started by assay, not by hand\n");
    return 4;
  }
  assay::adopt_orphans();
  assay::end_with_parent(*parent);
  // Copies of some MiB are taken and given back thousands of times: pages of them are kept, not asked for anew each
  // time.
  ::mallopt(M_MMAP_THRESHOLD, 32 << 20);
  ::mallopt(M_TRIM_THRESHOLD, 64 << 20);
  assay::close_to_others();  // a worker cannot trace the judge or read its memory
  ::fcntl(assay::kChannelDescriptor, F_SETFD, FD_CLOEXEC);
  const assay::OpRegistry ops = assay::make_op_registry();
  assay::serve_judge(assay::kChannelDescriptor, ops);
  return 0;
}
