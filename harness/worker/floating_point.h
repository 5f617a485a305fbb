// The floating-point control state of one thread: rounding, what becomes of subnormals, which exceptions trap. Code
// that is called leaves it as it was (System V ABI, 3.2.1), or what the thread computes next is another thing: another
// kernel's answer among it. Flags of exceptions that were raised are no part of it.
#pragma once

#include <cfenv>
#include <string>

namespace assay {

class FloatingPointState {
 public:
  FloatingPointState();  // this thread's, now
  // What of this thread's is otherwise now, in words: "flushing to zero, rounding"; empty: nothing.
  std::string changes() const;
  void restore() const;

 private:
  std::fenv_t state_{};
  [[maybe_unused]] int rounding_;  // what is known where there is no MXCSR
};

}  // namespace assay
