// Judges the cases of a canary under pin and candidate, in turn: no case of the one begins before the other has its
// record of the case before, and which comes first alternates. What disturbs the machine for a while disturbs both.
// Where several cases may be judged at once, as many pairs of judges share the cases, none waiting for another, and
// what asks for a machine of its own (gate/coordinator.h) comes last, in turn.
#pragma once

#include <array>

#include "gate/coordinator.h"

namespace assay {

// The jobs are of the same cases in the same order, as many at a time (RunJob::jobs). An interrupted pair goes on where
// each side's records end. Throws what either side throws, when both have ended: the other after the cases it is at.
std::array<RunEnding, 2> run_in_turn(std::array<RunJob, 2> jobs);

}  // namespace assay
