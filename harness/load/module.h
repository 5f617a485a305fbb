// Loads a kernel module into this process and checks everything about its table that can be checked without running a
// kernel. Only workers do this.
#pragma once

#include <assay/abi.h>

#include <filesystem>
#include <string>
#include <vector>

namespace assay {

class Module {
 public:
  // Throws UsageError: no such file, not loadable, no `assay_module` symbol, another ABI version, or a malformed table.
  // The message names the file and the remedy.
  explicit Module(const std::filesystem::path& file);

  const std::string& name() const { return name_; }
  const std::vector<const assay_kernel*>& kernels() const { return kernels_; }
  const assay_kernel* find(std::string_view op, std::string_view kernel) const;

 private:
  // Modules stay loaded until the process ends: a library's threads may outlive dlclose.
  std::string name_;
  std::vector<const assay_kernel*> kernels_;
};

}  // namespace assay
