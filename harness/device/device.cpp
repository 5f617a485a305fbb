#include "device/device.h"

#include "core/error.h"
#include "device/memory_host.h"
#include "device/worker_device_host.h"
#ifdef ASSAY_CUDA
#include "device/memory_cuda.h"
#include "device/worker_device_cuda.h"
#endif

namespace assay {

Device device_named(std::string_view name) {
  for (const Device device : {Device::cpu, Device::cuda}) {
    if (name == name_of(device)) return device;
  }
  throw UsageError("--device: there is no '" + std::string(name) + "'; there are cpu and cuda");
}

std::string_view name_of(Device device) { return device == Device::cpu ? "cpu" : "cuda"; }

#ifdef ASSAY_CUDA
std::string why_unusable(Device device) { return device == Device::cuda ? why_cuda_is_unusable() : ""; }
#else
std::string why_unusable(Device device) {
  return device == Device::cuda ? "this build has no CUDA: configure it again where nvcc is found" : "";
}
#endif

std::unique_ptr<Memory> make_memory(Device device) {
  if (const std::string why = why_unusable(device); !why.empty()) throw UsageError("--device cuda: " + why);
#ifdef ASSAY_CUDA
  if (device == Device::cuda) return make_cuda_memory();
#endif
  return std::make_unique<HostMemory>();
}

std::unique_ptr<WorkerDevice> make_private_worker_device(Device device) {
#ifdef ASSAY_CUDA
  if (device == Device::cuda) return make_private_cuda_worker_device();
#endif
  return make_worker_device(device);
}

std::unique_ptr<WorkerDevice> make_worker_device(Device device) {
#ifdef ASSAY_CUDA
  if (device == Device::cuda) return make_cuda_worker_device();
#endif
  if (device != Device::cpu) throw UsageError("--device cuda: " + why_unusable(device));
  return std::make_unique<HostWorkerDevice>();
}

}  // namespace assay
