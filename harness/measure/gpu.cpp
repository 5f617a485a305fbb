#include "measure/gpu.h"

#include <dlfcn.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>

#include "core/number_text.h"
#include "record/json_text.h"

namespace assay {
namespace {

using NvmlDevice = struct NvmlDeviceTag*;

const std::string kUnknown = "unknown";
constexpr const char* kVisibleDevices = "CUDA_VISIBLE_DEVICES";

// Constants of nvml.h.
constexpr int kSuccess = 0;
enum Clock { kClockSm = 1, kClockMemory = 2 };
enum EccErrors { kCorrected = 0, kUncorrected = 1 };
constexpr int kSinceDriverLoad = 0;
constexpr int kGpuTemperature = 0;

// NVML while this object lives, and one GPU of it.
class Nvml {
 public:
  Nvml() {
    library_ = ::dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library_ == nullptr || call("nvmlInit_v2") != kSuccess) return;
    started_ = true;
    const char* visible = std::getenv(kVisibleDevices);
    const std::string_view all = visible == nullptr ? "0" : visible;
    const std::string wanted(all.substr(0, all.find(',')));
    const std::optional<unsigned> index = number_of<unsigned>(wanted);
    const int found = index ? call("nvmlDeviceGetHandleByIndex_v2", *index, &device_)
                            : call("nvmlDeviceGetHandleByUUID", wanted.c_str(), &device_);
    if (found != kSuccess) device_ = nullptr;
  }
  ~Nvml() {
    if (started_) call("nvmlShutdown");
  }
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  template <class... Arguments>
  int call(const char* function, Arguments... arguments) const {
    constexpr int kNotFound = -1;
    if (library_ == nullptr) return kNotFound;
    const auto found = reinterpret_cast<int (*)(Arguments...)>(::dlsym(library_, function));
    return found == nullptr ? kNotFound : found(arguments...);
  }

  // A function of the device and some constants that gives one number last.
  template <class Number, class... Arguments>
  std::optional<int64_t> number(const char* function, Arguments... arguments) const {
    Number value{};
    if (device_ == nullptr || call(function, device_, arguments..., &value) != kSuccess) return std::nullopt;
    return static_cast<int64_t>(value);
  }

  // A function of the device that writes a text of at most so many bytes.
  std::string text(const char* function) const { return text_of(device_, function); }

  // Of every GPU there is, or of the instances that one is divided into.
  std::vector<std::string> uuids() const {
    std::vector<std::string> all;
    for (const NvmlDevice gpu : numbered("nvmlDeviceGetCount_v2", "nvmlDeviceGetHandleByIndex_v2")) {
      std::vector<NvmlDevice> devices =
          numbered("nvmlDeviceGetMaxMigDeviceCount", "nvmlDeviceGetMigDeviceHandleByIndex", gpu);
      if (devices.empty()) devices.push_back(gpu);
      for (const NvmlDevice device : devices) all.push_back(text_of(device, "nvmlDeviceGetUUID"));
    }
    return all;
  }

  std::string system_text(const char* function) const {
    std::array<char, 128> value{};
    if (!started_ || call(function, value.data(), static_cast<unsigned>(value.size())) != kSuccess) return kUnknown;
    return valid_utf8(value.data());
  }

  NvmlDevice device() const { return device_; }

 private:
  std::string text_of(NvmlDevice device, const char* function) const {
    std::array<char, 128> value{};
    if (device == nullptr || call(function, device, value.data(), static_cast<unsigned>(value.size())) != kSuccess) {
      return kUnknown;
    }
    return valid_utf8(value.data());
  }

  // What one function counts and another gives by its number, where there is one of it; `whole` first, if any.
  template <class... Whole>
  std::vector<NvmlDevice> numbered(const char* count_of, const char* at, Whole... whole) const {
    std::vector<NvmlDevice> found;
    unsigned count = 0;
    if (!started_ || call(count_of, whole..., &count) != kSuccess) return found;
    for (unsigned i = 0; i < count; ++i) {
      NvmlDevice device = nullptr;
      if (call(at, whole..., i, &device) == kSuccess) found.push_back(device);
    }
    return found;
  }

  void* library_ = nullptr;
  bool started_ = false;
  NvmlDevice device_ = nullptr;
};

std::string text_of(const std::optional<int64_t>& value, const char* unit = "") {
  return value ? std::to_string(*value) + unit : kUnknown;
}

// A mode that is on (1) or off (0) now.
std::string mode(const Nvml& nvml, const char* function) {
  unsigned current = 0, pending = 0;
  if (nvml.device() == nullptr || nvml.call(function, nvml.device(), &current, &pending) != kSuccess) return kUnknown;
  return current == 0 ? "off" : "on";
}

// The length is not asked for: NVML_GSP_FIRMWARE_VERSION_BUF_SIZE is 0x40.
std::string gsp_firmware(const Nvml& nvml) {
  std::array<char, 0x80> version{};
  if (nvml.device() == nullptr ||
      nvml.call("nvmlDeviceGetGspFirmwareVersion", nvml.device(), version.data()) != kSuccess) {
    return kUnknown;
  }
  return valid_utf8(version.data());
}

std::string compute_capability(const Nvml& nvml) {
  int major = 0, minor = 0;
  if (nvml.device() == nullptr ||
      nvml.call("nvmlDeviceGetCudaComputeCapability", nvml.device(), &major, &minor) != kSuccess) {
    return kUnknown;
  }
  return std::to_string(major) + "." + std::to_string(minor);
}

std::string memory_total(const Nvml& nvml) {
  struct {
    unsigned long long total, free, used;
  } memory{};
  if (nvml.device() == nullptr || nvml.call("nvmlDeviceGetMemoryInfo", nvml.device(), &memory) != kSuccess)
    return kUnknown;
  return std::to_string(memory.total >> 20) + " MiB";
}

// 13000 is written 13.0.
std::string cuda_of_driver(const Nvml& nvml) {
  int version = 0;
  if (nvml.call("nvmlSystemGetCudaDriverVersion_v2", &version) != kSuccess) return kUnknown;
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

std::string bits(const std::optional<int64_t>& value) {
  if (!value) return kUnknown;
  char text[24];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(*value));
  return text;
}

std::string both(const std::optional<int64_t>& before, const std::optional<int64_t>& after) {
  return text_of(before) + " before, " + text_of(after) + " after";
}

std::string gained(const std::optional<int64_t>& before, const std::optional<int64_t>& after) {
  return before && after ? std::to_string(*after - *before) : kUnknown;
}

GpuTelemetry telemetry_of(const Nvml& nvml) {
  using Count = unsigned long long;
  return {
      .sm_mhz = nvml.number<unsigned>("nvmlDeviceGetClockInfo", kClockSm),
      .memory_mhz = nvml.number<unsigned>("nvmlDeviceGetClockInfo", kClockMemory),
      .celsius = nvml.number<unsigned>("nvmlDeviceGetTemperature", kGpuTemperature),
      .milliwatts = nvml.number<unsigned>("nvmlDeviceGetPowerUsage"),
      .throttle_reasons = nvml.number<Count>("nvmlDeviceGetCurrentClocksThrottleReasons"),
      .corrected_errors = nvml.number<Count>("nvmlDeviceGetTotalEccErrors", kCorrected, kSinceDriverLoad),
      .fatal_errors = nvml.number<Count>("nvmlDeviceGetTotalEccErrors", kUncorrected, kSinceDriverLoad),
  };
}

}  // namespace

Facts gpu_facts() {
  const Nvml nvml;
  return {
      {"gpu.model", nvml.text("nvmlDeviceGetName")},
      {"gpu.uuid", nvml.text("nvmlDeviceGetUUID")},
      {"gpu.vbios", nvml.text("nvmlDeviceGetVbiosVersion")},
      {"gpu.gsp_firmware", gsp_firmware(nvml)},
      {"gpu.driver", nvml.system_text("nvmlSystemGetDriverVersion")},
      {"gpu.driver_cuda", cuda_of_driver(nvml)},
      {"gpu.compute_capability", compute_capability(nvml)},
      {"gpu.memory", memory_total(nvml)},
      {"gpu.ecc", mode(nvml, "nvmlDeviceGetEccMode")},
      {"gpu.mig", mode(nvml, "nvmlDeviceGetMigMode")},
      {"gpu.persistence", text_of(nvml.number<unsigned>("nvmlDeviceGetPersistenceMode"))},
      {"gpu.max_sm_clock", text_of(nvml.number<unsigned>("nvmlDeviceGetMaxClockInfo", kClockSm), " MHz")},
      {"gpu.max_memory_clock", text_of(nvml.number<unsigned>("nvmlDeviceGetMaxClockInfo", kClockMemory), " MHz")},
      {"gpu.power_limit", text_of(nvml.number<unsigned>("nvmlDeviceGetEnforcedPowerLimit"), " mW")},
  };
}

std::vector<std::string> listed_gpus(const std::string& visible_devices) {
  std::vector<std::string> names;
  std::istringstream in(visible_devices);
  for (std::string name; std::getline(in, name, ',');) {
    std::erase(name, ' ');
    if (name.empty() || name.starts_with('-')) break;
    names.push_back(name);
  }
  return names;
}

std::vector<std::string> visible_gpus() {
  const char* visible = std::getenv(kVisibleDevices);
  if (visible != nullptr) return listed_gpus(visible);
  std::vector<std::string> uuids = Nvml().uuids();
  std::erase(uuids, kUnknown);
  return uuids;
}

std::map<std::string, std::string> gpu_of_job(const std::vector<std::string>& gpus, int job, int jobs) {
  if (jobs < 2 || gpus.size() < 2) return {};
  return {{kVisibleDevices, gpus[static_cast<size_t>(job) % gpus.size()]}};
}

GpuTelemetry read_gpu_telemetry() { return telemetry_of(Nvml()); }

std::function<GpuTelemetry()> gpu_telemetry_reader() {
  return [nvml = std::make_shared<const Nvml>()] { return telemetry_of(*nvml); };
}

Facts gpu_telemetry_between(const GpuTelemetry& before, const GpuTelemetry& after) {
  return {
      {"telemetry.gpu_sm_mhz", both(before.sm_mhz, after.sm_mhz)},
      {"telemetry.gpu_memory_mhz", both(before.memory_mhz, after.memory_mhz)},
      {"telemetry.gpu_celsius", both(before.celsius, after.celsius)},
      {"telemetry.gpu_milliwatts", both(before.milliwatts, after.milliwatts)},
      {"telemetry.gpu_throttle_reasons",
       bits(before.throttle_reasons) + " before, " + bits(after.throttle_reasons) + " after"},
      {"telemetry.gpu_corrected_errors", gained(before.corrected_errors, after.corrected_errors)},
      {"telemetry.gpu_fatal_errors", gained(before.fatal_errors, after.fatal_errors)},
  };
}

}  // namespace assay
