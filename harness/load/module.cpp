#include "load/module.h"

#include <dlfcn.h>

#include "core/error.h"

namespace assay {
namespace {

[[noreturn]] void reject(const std::filesystem::path& file, const std::string& why) {
  throw UsageError("module " + file.string() + ": " + why);
}

bool blank(const char* text) { return text == nullptr || *text == '\0'; }

void check_kernel(const std::filesystem::path& file, const assay_kernel* kernel, uint32_t index) {
  const std::string where = "kernel " + std::to_string(index);
  if (kernel == nullptr) reject(file, where + " is null in the table");
  if (blank(kernel->name) || blank(kernel->op) || blank(kernel->target)) {
    reject(file, where + " lacks a name, an op or a target");
  }
  const std::string named = std::string(kernel->op) + "/" + kernel->name;
  if (std::string_view(kernel->target) != "cpu" && std::string_view(kernel->target) != "cuda") {
    reject(file, named + " is for target '" + kernel->target + "'; there are cpu and cuda");
  }
  if (kernel->create == nullptr || kernel->destroy == nullptr || kernel->prepare == nullptr ||
      kernel->release == nullptr || kernel->workspace == nullptr || kernel->launch == nullptr ||
      kernel->describe == nullptr) {
    reject(file, named + " lacks one of create, destroy, prepare, release, workspace, launch, describe");
  }
}

}  // namespace

Module::Module(const std::filesystem::path& file) {
  if (!std::filesystem::exists(file)) reject(file, "no such file");
  // An absolute path, so that the loader does not search for it.
  void* handle = ::dlopen(std::filesystem::absolute(file).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const std::string why = ::dlerror();
    const bool unnamed = why.find("undefined symbol: assay_kernel_") != std::string::npos;
    reject(file,
           "cannot be loaded: " + why +
               (unnamed ? "; the op and name in ASSAY_KERNEL must be those the build names: the folder's and the file's"
                        : ""));
  }
  void* symbol = ::dlsym(handle, ASSAY_MODULE_SYMBOL);
  if (symbol == nullptr) {
    reject(file, "does not export '" ASSAY_MODULE_SYMBOL "'; mark it ASSAY_EXPORT, or build it with assay_module()");
  }
  const assay_module_table* table = reinterpret_cast<assay_module_function>(symbol)();
  if (table == nullptr) reject(file, "'" ASSAY_MODULE_SYMBOL "' returned null");
  if (table->abi_version != ASSAY_ABI_VERSION || table->kernel_size != sizeof(assay_kernel)) {
    reject(file, "speaks ABI version " + std::to_string(table->abi_version) + " (kernel table of " +
                     std::to_string(table->kernel_size) + " bytes), this harness version " +
                     std::to_string(ASSAY_ABI_VERSION) + " (" + std::to_string(sizeof(assay_kernel)) +
                     " bytes); rebuild the module against this <assay/abi.h>");
  }
  if (table->kernel_count == 0 || table->kernels == nullptr) reject(file, "lists no kernels");
  name_ = table->name == nullptr ? file.stem().string() : table->name;
  for (uint32_t i = 0; i < table->kernel_count; ++i) {
    check_kernel(file, table->kernels[i], i);
    kernels_.push_back(table->kernels[i]);
  }
}

const assay_kernel* Module::find(std::string_view op, std::string_view kernel) const {
  for (const assay_kernel* entry : kernels_) {
    if (op == entry->op && kernel == entry->name) return entry;
  }
  return nullptr;
}

}  // namespace assay
