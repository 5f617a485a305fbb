#include "gate/timing_process.h"

#include <unistd.h>

#include <utility>

namespace assay {
namespace {

class JudgeThatTimes : public TimingProcess {
 public:
  explicit JudgeThatTimes(const JudgeSettings& settings) : judge_(settings) {}
  Timed time(const KernelInfo& kernel, const Case& c, const TimePlan& plan) override {
    return judge_.time(kernel, c, plan);
  }
  SentinelTimes sentinel() override { return judge_.sentinel(); }
  double seconds_spent() override { return judge_.seconds_spent(); }

 private:
  JudgeClient judge_;
};

// Fraction of all processor time between two readings; 0 where it is not known.
double share_of(double seconds, const Telemetry& before, const Telemetry& after) {
  if (!before.cpu_ticks || !after.cpu_ticks || *after.cpu_ticks <= *before.cpu_ticks) return 0;
  const auto ticks_a_second = static_cast<double>(::sysconf(_SC_CLK_TCK));
  return seconds * ticks_a_second / static_cast<double>(*after.cpu_ticks - *before.cpu_ticks);
}

double seconds_stolen(const Telemetry& before, const Telemetry& after) {
  if (!before.steal_ticks || !after.steal_ticks) return 0;
  return static_cast<double>(*after.steal_ticks - *before.steal_ticks) / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

// In which processors were busy, but not with this process, nor with what used `spent`, nor with their host's business.
double seconds_of_others(const Telemetry& before, const Telemetry& after, double spent) {
  if (!before.idle_ticks || !after.idle_ticks || !before.own_cpu_us || !after.own_cpu_us) return 0;
  const int64_t busy = (*after.cpu_ticks - *before.cpu_ticks) - (*after.idle_ticks - *before.idle_ticks);
  return static_cast<double>(busy) / static_cast<double>(::sysconf(_SC_CLK_TCK)) - seconds_stolen(before, after) -
         spent - static_cast<double>(*after.own_cpu_us - *before.own_cpu_us) * 1e-6;
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

}  // namespace

StartTiming timing_process(JudgeSettings settings) {
  return [settings = std::move(settings)] { return std::make_unique<JudgeThatTimes>(settings); };
}

MachineState read_machine() { return {read_telemetry(), read_gpu_telemetry()}; }

std::string disturbance(const MachineState& before, const MachineState& after, double seconds_spent,
                        const LatencyPolicy::Voids& rules) {
  if (is_slowed_down(before, after)) return "slowdown";
  if (has_memory_errors(before.gpu, after.gpu)) return "ecc";
  if (share_of(seconds_stolen(before.cpu, after.cpu), before.cpu, after.cpu) > rules.steal) return "steal";
  if (share_of(seconds_of_others(before.cpu, after.cpu, seconds_spent), before.cpu, after.cpu) > rules.foreign)
    return "foreign";
  return "";
}

}  // namespace assay
