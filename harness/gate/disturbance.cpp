#include "gate/disturbance.h"

#include <unistd.h>

#include <algorithm>
#include <array>

namespace assay {
namespace {

double seconds_of(int64_t ticks) { return static_cast<double>(ticks) / static_cast<double>(::sysconf(_SC_CLK_TCK)); }

// Of all processors together; 0 where it is not known.
double seconds_there_were(const Telemetry& before, const Telemetry& after) {
  return before.cpu_ticks && after.cpu_ticks ? seconds_of(*after.cpu_ticks - *before.cpu_ticks) : 0;
}

double seconds_stolen(const Telemetry& before, const Telemetry& after) {
  if (!before.steal_ticks || !after.steal_ticks) return 0;
  return seconds_of(*after.steal_ticks - *before.steal_ticks);
}

// In which processors were busy, but not with this process, nor with what used `spent`, nor with their host's business.
double seconds_of_others(const Telemetry& before, const Telemetry& after, double spent) {
  if (!before.idle_ticks || !after.idle_ticks || !before.own_cpu_us || !after.own_cpu_us) return 0;
  const int64_t busy = (*after.cpu_ticks - *before.cpu_ticks) - (*after.idle_ticks - *before.idle_ticks);
  return seconds_of(busy) - seconds_stolen(before, after) - spent -
         static_cast<double>(*after.own_cpu_us - *before.own_cpu_us) * 1e-6;
}

// nvmlClocksThrottleReasonHwSlowdown, SwThermalSlowdown, HwThermalSlowdown and HwPowerBrakeSlowdown (NVIDIA, NVML API
// Reference Guide). A power cap is none of them: a kernel may bring it about by itself.
constexpr int64_t kSlowdowns = 0x8 | 0x20 | 0x40 | 0x80;

bool is_slowed_down(const MachineState& before, const MachineState& after) {
  if (before.cpu.throttle_events != after.cpu.throttle_events) return true;
  return ((before.gpu.throttle_reasons.value_or(0) | after.gpu.throttle_reasons.value_or(0)) & kSlowdowns) != 0;
}

bool has_memory_errors(const GpuTelemetry& before, const GpuTelemetry& after) {
  return before.corrected_errors != after.corrected_errors || before.fatal_errors != after.fatal_errors;
}

struct Disturbance {
  std::string why;   // empty: the block counts
  int process = -1;  // place in time of the process it happened to
};

Disturbance disturbance_of(const std::array<ProcessConditions, kProcessesOfABlock>& conditions,
                           const LatencyPolicy::Voids& rules) {
  const bool lasted = std::ranges::none_of(conditions, [](const ProcessConditions& of) { return of.event.empty(); });
  for (size_t place = 0; place < conditions.size(); ++place) {
    const ProcessConditions& of = conditions[place];
    const int process = static_cast<int>(place);
    if (!of.event.empty()) return {of.event, lasted ? -1 : process};
    if (of.stolen > rules.steal) return {"steal", process};
  }
  // Whoever else was at work was beside the whole block.
  if (conditions[0].foreign > rules.foreign) return {"foreign", -1};
  const auto by_sentinel = [](const ProcessConditions& a, const ProcessConditions& b) {
    return a.sentinel_us < b.sentinel_us;
  };
  const auto [fastest, slowest] = std::minmax_element(conditions.begin(), conditions.end(), by_sentinel);
  if (slowest->sentinel_us > (1 + rules.sentinel) * fastest->sentinel_us) {
    return {"sentinel", static_cast<int>(slowest - conditions.begin())};
  }
  return {};
}

}  // namespace

ReadMachine machine_reader() {
  return [read_gpu = gpu_telemetry_reader()]() -> MachineState { return {read_telemetry(), read_gpu()}; };
}

void ConditionsOfProcess::add(const MachineState& before, const MachineState& after) {
  stolen_ += seconds_stolen(before.cpu, after.cpu);
  all_ += seconds_there_were(before.cpu, after.cpu);
  if (!event_.empty()) return;
  if (is_slowed_down(before, after)) {
    event_ = "slowdown";
  } else if (has_memory_errors(before.gpu, after.gpu)) {
    event_ = "ecc";
  }
}

ProcessConditions ConditionsOfProcess::conditions() const {
  return {.stolen = all_ > 0 ? stolen_ / all_ : 0, .event = event_};
}

double foreign_share(const MachineState& before, const MachineState& after, double seconds_spent) {
  const double all = seconds_there_were(before.cpu, after.cpu);
  return all > 0 ? seconds_of_others(before.cpu, after.cpu, seconds_spent) / all : 0;
}

void apply_void_rules(const LatencyPolicy::Voids& rules, RecordedBlock& block) {
  if (!block.block.is_measured()) return;
  const Disturbance found = disturbance_of(block.conditions, rules);
  block.void_why = found.why;
  block.void_process = found.process;
}

}  // namespace assay
