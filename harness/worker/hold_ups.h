// Threads of a worker stopped at odd moments while a kernel runs, so that their work interleaves as it rarely does by
// itself: each is interrupted every few dozen microseconds and sleeps for about as long, wherever it stands. A thread
// that is held up between reading and writing shared memory gives way to those it should have been kept apart from.
#pragma once

#include <ctime>
#include <vector>

namespace assay {

// From its making until its end, for the threads that there are when it is made; nothing where there is only one. One
// at a time: signal handlers share one count. System calls are restarted (SA_RESTART) where the kernel knows how.
class HoldUps {
 public:
  HoldUps();
  ~HoldUps();
  HoldUps(const HoldUps&) = delete;
  HoldUps& operator=(const HoldUps&) = delete;

 private:
  std::vector<timer_t> timers_;
};

}  // namespace assay
