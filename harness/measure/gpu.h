// What the driver says of the GPU that kernels run on, and its state while they do. NVML is looked for at run time;
// what it does not answer is "unknown", never guessed. Signatures and constants: NVIDIA, NVML API Reference Guide.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "measure/environment.h"

namespace assay {

// "gpu.model", "gpu.uuid", "gpu.driver", VBIOS, GSP firmware, ECC and MIG state, clock and power limits. The GPU is the
// first of CUDA_VISIBLE_DEVICES, else the first there is. All "unknown" where there is no driver.
Facts gpu_facts();

// Those that a process of this environment may use, each as CUDA_VISIBLE_DEVICES names it: as it lists them, else every
// GPU there is, or its MIG instances, by UUID. No CUDA context is made.
std::vector<std::string> visible_gpus();
// The entries of CUDA_VISIBLE_DEVICES, up to the first that names none: CUDA shows no further ones.
std::vector<std::string> listed_gpus(const std::string& visible_devices);

// What the environment of job `job` of `jobs` has beside that of this process, so that they share `gpus` evenly: each
// sees one. Empty where one job has all to itself, or all have one.
std::map<std::string, std::string> gpu_of_job(const std::vector<std::string>& gpus, int job, int jobs);

struct GpuTelemetry {
  std::optional<int64_t> sm_mhz, memory_mhz;
  std::optional<int64_t> celsius;
  std::optional<int64_t> milliwatts;
  std::optional<int64_t> throttle_reasons;                // a set of bits: nvmlClocksThrottleReason*
  std::optional<int64_t> corrected_errors, fatal_errors;  // of memory, since the driver was loaded
};
GpuTelemetry read_gpu_telemetry();
// The same to be read often: NVML stays open, whose start takes milliseconds.
std::function<GpuTelemetry()> gpu_telemetry_reader();

// Both readings as facts "telemetry.gpu_sm_mhz" = "345 before, 1980 after", errors as their difference.
Facts gpu_telemetry_between(const GpuTelemetry& before, const GpuTelemetry& after);

}  // namespace assay
