// What the machine did while the processes of a block were timed, and which blocks that makes void.
#pragma once

#include <functional>
#include <string>

#include "gate/latency_policy.h"
#include "measure/blocks_file.h"
#include "measure/environment.h"
#include "measure/gpu.h"

namespace assay {

// Read before a process is at work and after.
struct MachineState {
  Telemetry cpu;
  GpuTelemetry gpu;
};
using ReadMachine = std::function<MachineState()>;
ReadMachine machine_reader();

// Adds up what was seen of one process of a block, over the stretches of time in which it was at work.
class ConditionsOfProcess {
 public:
  void add(const MachineState& before, const MachineState& after);
  ProcessConditions conditions() const;  // without what `add` cannot know: the sentinel's time, and others' work

 private:
  double stolen_ = 0, all_ = 0;  // seconds of processors
  std::string event_;
};

// The share of all processor time that was neither idle, nor the host's, nor this process's, nor among the
// `seconds_spent` by the block's processes until `after`.
double foreign_share(const MachineState& before, const MachineState& after, double seconds_spent);

// Makes a block that was measured void by its conditions ("slowdown", "ecc", "steal", "foreign", "sentinel"), or not:
// recorded ones can be judged by other rules than those of their day.
void apply_void_rules(const LatencyPolicy::Voids& rules, RecordedBlock& block);

}  // namespace assay
