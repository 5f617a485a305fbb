// One CUDA kernel on one case in this process: planned, and ready to launch on inputs of its own in device memory.
#pragma once

#include <assay/abi.h>
#include <cuda_runtime_api.h>

#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "core/case.h"
#include "core/op.h"
#include "device/layout.h"
#include "load/module.h"
#include "worker/wire.h"

namespace assay::ratios {

void require(cudaError_t status, const char* what);  // throws Error

struct FreeDevice {
  void operator()(std::byte* memory) const { cudaFree(memory); }
};
using DeviceMemory = std::unique_ptr<std::byte, FreeDevice>;
DeviceMemory device_memory(uint64_t bytes);

// The kernels of a folder's modules; each module is loaded once.
const assay_kernel& cuda_kernel(const std::filesystem::path& modules, const std::string& op, const std::string& name);

class CudaSubject {
 public:
  // Buffers are aligned to `alignment` bytes (0: to their elements) and placed as the case's fields `offset` and
  // `place` say. Throws Error with the reason when the kernel refuses the case.
  CudaSubject(const Op& op, const Case& c, const assay_kernel& kernel, uint64_t alignment);
  ~CudaSubject();
  CudaSubject(const CudaSubject&) = delete;
  CudaSubject& operator=(const CudaSubject&) = delete;

  const std::vector<TensorSpec>& tensors() const { return tensors_; }
  const Layout& layout() const { return layout_; }
  const assay_contract& contract() const;  // in force for this case
  std::byte* memory() { return memory_.get(); }
  std::byte* first_element(size_t tensor) {
    return memory() + layout_.regions[tensor].block_offset + layout_.regions[tensor].first;
  }
  uint64_t bytes() const;            // of all tensors' elements
  void launch(cudaStream_t stream);  // throws Error when the kernel does not return success

 private:
  std::vector<TensorSpec> tensors_;
  const assay_kernel* kernel_;
  void* state_ = nullptr;
  void* plan_ = nullptr;
  std::unique_ptr<WireCall> call_;
  Layout layout_;
  DeviceMemory memory_;
  std::vector<void*> pointers_;
};

}  // namespace assay::ratios
