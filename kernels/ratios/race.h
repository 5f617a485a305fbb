// Timing contestants side by side. Clocks, neighbours and thermal state drift, so nothing is compared across time: a
// case is measured in rounds, and in every round each contestant is timed once, in an order that alternates. Ratios are
// formed within a round.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace assay::ratios {

struct Contestant {
  std::string name;
  std::function<void()> run;
  std::vector<double> seconds{};  // a run, one entry a round
};

// A contestant rests until the idle threads of the other's runtime have stopped spinning, then runs for long enough to
// be timed, after a run that is not; one run that is long by itself needs no other before it.
void race(std::vector<Contestant>& contestants, int rounds);

double median(std::vector<double> values);

// Index in [begin, end) of the contestant whose median is fastest.
size_t fastest(const std::vector<Contestant>& contestants, size_t begin, size_t end);

// Round by round: work of ours per second over work of theirs.
std::vector<double> ratios_of(const Contestant& ours, const Contestant& theirs, double work_ratio);

}  // namespace assay::ratios
