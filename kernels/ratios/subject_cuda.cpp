#include "subject_cuda.h"

#include <algorithm>

#include "core/error.h"

namespace assay::ratios {

constexpr assay_device kFirstGpu{2, 0};

void require(cudaError_t status, const char* what) {
  if (status != cudaSuccess) throw Error(std::string(what) + ": " + cudaGetErrorString(status));
}

DeviceMemory device_memory(uint64_t bytes) {
  void* memory = nullptr;
  require(cudaMalloc(&memory, bytes), "cudaMalloc");
  return DeviceMemory(static_cast<std::byte*>(memory));
}

const assay_kernel& cuda_kernel(const std::filesystem::path& modules, const std::string& op, const std::string& name) {
  const std::filesystem::path file = modules / (op + "_" + name + ".so");
  if (!std::filesystem::exists(file)) throw UsageError("no module " + file.filename().string());
  const assay_kernel* kernel = Module(file).find(op, name);
  if (kernel == nullptr) throw UsageError(file.filename().string() + " has no kernel " + op + "/" + name);
  return *kernel;
}

CudaSubject::CudaSubject(const Op& op, const Case& c, const assay_kernel& kernel, uint64_t alignment)
    : tensors_(op.tensors(c)), kernel_(&kernel) {
  const Place place = c.word("place") == "start" ? Place::start : Place::end;
  const auto laid_out = [&](const Workspace& workspace) {
    return lay_out(tensors_, alignment, c.integer("offset"), place, workspace);
  };
  const char* error = nullptr;
  state_ = kernel.create(kFirstGpu, &error);
  if (state_ == nullptr) throw Error(error == nullptr ? "create failed" : error);
  call_ = std::make_unique<WireCall>(call_to_json(c, tensors_, laid_out({}), 1), kFirstGpu);
  if (const char* refusal = kernel.prepare(state_, &call_->get(), &plan_)) {
    const std::string reason = refusal;
    kernel.destroy(state_);
    throw Error("refused: " + reason);
  }
  const assay_workspace workspace = kernel.workspace(plan_);
  layout_ = laid_out({workspace.bytes, std::max<uint64_t>(1, workspace.alignment), workspace.init != 0});
  memory_ = device_memory(layout_.total);
  uint64_t offset = 0;
  for (Region& region : layout_.regions) {
    region.block_offset = offset;
    offset += region.length;
    pointers_.push_back(memory() + region.block_offset + region.base);
  }
}

CudaSubject::~CudaSubject() {
  kernel_->release(state_, plan_);
  kernel_->destroy(state_);
}

const assay_contract& CudaSubject::contract() const {
  const assay_contract* special = kernel_->plan_contract == nullptr ? nullptr : kernel_->plan_contract(plan_);
  return special == nullptr ? kernel_->contract : *special;
}

uint64_t CudaSubject::bytes() const {
  uint64_t bytes = 0;
  for (const TensorSpec& t : tensors_) bytes += static_cast<uint64_t>(t.elements()) * size_of(t.dtype);
  return bytes;
}

void CudaSubject::launch(cudaStream_t stream) {
  if (const char* error = kernel_->launch(plan_, stream, pointers_.data()))
    throw Error("launch: " + std::string(error));
}

}  // namespace assay::ratios
