// Time that has passed, by a clock that nobody sets.
#pragma once

#include <chrono>

namespace assay {

using Clock = std::chrono::steady_clock;

inline double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

}  // namespace assay
