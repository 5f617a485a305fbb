// One kernel on one case in this process, planned and ready to launch on inputs that lie in the memory it is given.
#pragma once

#include <assay/abi.h>

#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "arena.h"
#include "core/case.h"
#include "core/op.h"
#include "device/layout.h"
#include "worker/wire.h"

namespace assay::ratios {

class Subject {
 public:
  // `kernel_id` is "op/kernel:field=value,...". Throws Error with the reason when the op is not known, the module
  // OP_KERNEL.so is not there, the kernel refuses the case, or the tensors do not fit.
  Subject(const OpRegistry& ops, const std::filesystem::path& modules, const std::string& kernel_id, int threads,
          const Arena& memory);
  ~Subject();
  Subject(const Subject&) = delete;
  Subject& operator=(const Subject&) = delete;

  const std::string& id() const { return id_; }
  const Case& test_case() const { return case_; }
  uint64_t bytes() const { return bytes_; }  // of all tensors' elements
  void launch();                             // throws Error when the kernel does not return success

 private:
  void release();

  std::string id_;
  Case case_;
  uint64_t bytes_ = 0;
  const assay_kernel* kernel_ = nullptr;
  void* state_ = nullptr;
  void* plan_ = nullptr;
  std::unique_ptr<WireCall> call_;
  std::vector<void*> pointers_;
};

}  // namespace assay::ratios
