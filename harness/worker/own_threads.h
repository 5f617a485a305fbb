// The other threads of this process, such as those of the pools that kernels' libraries keep: where they run while a
// kernel is timed, and when they are at rest.
#pragma once

#include <sys/types.h>

#include <set>

namespace assay {

class OwnThreads {
 public:
  // Has every thread keep off the first of the caller's processors, and the caller begin there. Left to the scheduler a
  // pool's thread that has slept wakes up beside the one that it works with, and both share a processor for
  // milliseconds. The caller may leave: what it starts later inherits all its processors, not that one. What a thread
  // that was placed has started since inherited less, and gets all; what such a thread starts anew in each launch is
  // not seen. A thread that keeps to some processors by itself is left there, unless they are what one inherits.
  void place();

  // Ends that until it is asked for again: for a kernel whose caller sleeps while its threads compute, which may be as
  // many as there are processors.
  void let_go();

  bool has_placed() const { return !seen_.empty(); }

  // A pool's threads look for more work for milliseconds after a launch has returned, and would take a processor from
  // the process whose turn is next. Waits until they are at rest; false: they still computed after a second.
  bool wait_until_at_rest() const;

 private:
  std::set<pid_t> seen_;  // since the last let_go()
};

}  // namespace assay
