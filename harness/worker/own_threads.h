// The other threads of this process, such as those of the pools that kernels' libraries keep: where they run while a
// kernel is timed, and when they are at rest.
#pragma once

namespace assay {

// Puts each on one of the caller's processors, in turn and from the second one on, in the order in which they were
// started: those of one pool on processors of their own as far as there are. The caller goes to the first, and may
// leave it: what it starts later inherits all its processors, not that one. Where the scheduler is left to it, a pool's
// thread that has slept wakes up beside the one that it works with, and both share a processor for milliseconds.
// Leaves alone what may not run on all of the caller's processors: a thread that was placed before, or placed itself.
void place_own_threads();

// A pool's threads look for more work for milliseconds after a launch has returned, and would take a processor from the
// process whose turn is next. Returns once they are at rest, or after 100 ms.
void wait_for_own_threads();

}  // namespace assay
