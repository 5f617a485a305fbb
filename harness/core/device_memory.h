// Memory of the current CUDA device for the harness's own use: references, bounds, counters. What kernels under test
// read and write is device/'s.
#pragma once

#include <cstddef>
#include <utility>

namespace assay {

class DeviceMemory {
 public:
  DeviceMemory() = default;
  explicit DeviceMemory(size_t bytes);  // aligned to 256 bytes. Throws Error when the device has not that much.
  DeviceMemory(DeviceMemory&& other) noexcept { *this = std::move(other); }
  DeviceMemory& operator=(DeviceMemory&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~DeviceMemory();

  std::byte* data() const { return data_; }
  size_t bytes() const { return bytes_; }

 private:
  std::byte* data_ = nullptr;
  size_t bytes_ = 0;
};

// Ordered after what `stream` (a cudaStream_t) holds, and done when they return. Throw Error.
void copy_to_device(void* to, const void* from, size_t bytes, void* stream = nullptr);
void copy_to_host(void* to, const void* from, size_t bytes, void* stream = nullptr);

// Until everything in `stream` is done. Throws Error.
void wait_for_device(void* stream = nullptr);

size_t free_device_memory();  // bytes. Throws Error.

int cuda_devices();  // 0 where there is no driver

}  // namespace assay
