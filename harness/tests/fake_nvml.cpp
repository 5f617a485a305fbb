// libnvidia-ml.so.1 of a machine that has two GPUs, the second divided into two MIG instances. Signatures and
// constants: NVIDIA, NVML API Reference Guide.
#include <array>
#include <cstdio>

namespace {

constexpr int kSuccess = 0, kNotFound = 6;

struct Device {
  const char* uuid;
};
constexpr std::array<Device, 2> kGpus{{{"GPU-0"}, {"GPU-1"}}}, kInstances{{{"MIG-1"}, {"MIG-2"}}};

int give(const std::array<Device, 2>& devices, unsigned index, const Device** device) {
  if (index >= devices.size()) return kNotFound;
  *device = &devices[index];
  return kSuccess;
}

}  // namespace

extern "C" {

int nvmlInit_v2() { return kSuccess; }
int nvmlShutdown() { return kSuccess; }

int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = kGpus.size();
  return kSuccess;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, const Device** device) { return give(kGpus, index, device); }

// Seven are possible, and two are there.
int nvmlDeviceGetMaxMigDeviceCount(const Device* gpu, unsigned* count) {
  *count = gpu == &kGpus[1] ? 7 : 0;
  return kSuccess;
}
int nvmlDeviceGetMigDeviceHandleByIndex(const Device*, unsigned index, const Device** device) {
  return give(kInstances, index, device);
}

int nvmlDeviceGetUUID(const Device* device, char* text, unsigned length) {
  std::snprintf(text, length, "%s", device->uuid);
  return kSuccess;
}
}
