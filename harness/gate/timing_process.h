// A fresh process that times kernels of one arm, and what the machine did meanwhile.
#pragma once

#include <functional>
#include <memory>

#include "gate/latency_policy.h"
#include "measure/environment.h"
#include "measure/gpu.h"
#include "worker/judge_client.h"

namespace assay {

class TimingProcess {
 public:
  virtual ~TimingProcess() = default;
  // As in JudgeClient; either may throw JudgeDied.
  virtual Timed time(const KernelInfo& kernel, const Case& c, const TimePlan& plan) = 0;
  virtual SentinelTimes sentinel() = 0;
  virtual double seconds_spent() = 0;
};
using StartTiming = std::function<std::unique_ptr<TimingProcess>()>;

// A judge that holds the memory and is idle otherwise, with the worker that times.
StartTiming timing_process(JudgeSettings settings);

// Read before a process begins and after it has ended.
struct MachineState {
  Telemetry cpu;
  GpuTelemetry gpu;
};
using ReadMachine = std::function<MachineState()>;
MachineState read_machine();

// What disturbed a process, in one word: "steal", "foreign", "slowdown", "ecc"; empty: nothing that is known of. It
// used `seconds_spent` of processor time.
std::string disturbance(const MachineState& before, const MachineState& after, double seconds_spent,
                        const LatencyPolicy::Voids& rules);

}  // namespace assay
