#include "core/cuda.cuh"
#include "core/device_memory.h"

namespace assay {

DeviceMemory::DeviceMemory(size_t bytes) : bytes_(bytes) {
  if (bytes == 0) return;
  const std::string what = "device memory, " + std::to_string(bytes) + " bytes";
  const cudaError_t status = cudaMalloc(reinterpret_cast<void**>(&data_), bytes);
  if (status != cudaSuccess) (void)cudaGetLastError();  // it is told by throwing, and the next launch is not to blame
  require_cuda(status, what.c_str());
}

DeviceMemory::~DeviceMemory() {
  if (data_ != nullptr) cudaFree(data_);
}

void copy_to_device(void* to, const void* from, size_t bytes, void* stream) {
  if (bytes == 0) return;
  require_cuda(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, stream_of(stream)), "copy to the device");
  require_cuda(cudaStreamSynchronize(stream_of(stream)), "copy to the device");
}

void copy_to_host(void* to, const void* from, size_t bytes, void* stream) {
  if (bytes == 0) return;
  require_cuda(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, stream_of(stream)), "copy to the host");
  require_cuda(cudaStreamSynchronize(stream_of(stream)), "copy to the host");
}

void wait_for_device(void* stream) { require_cuda(cudaStreamSynchronize(stream_of(stream)), "waiting"); }

size_t free_device_memory() {
  size_t free = 0, total = 0;
  require_cuda(cudaMemGetInfo(&free, &total), "device memory");
  return free;
}

int cuda_devices() {
  int count = 0;
  return cudaGetDeviceCount(&count) == cudaSuccess ? count : 0;
}

}  // namespace assay
