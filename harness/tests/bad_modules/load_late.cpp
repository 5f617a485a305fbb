// pass: loads late.so, which cli_golden_test.cpp puts beside it, at its first launch, and computes with it.
#include <dlfcn.h>

#include <string>

#include "base.h"
namespace {
using Same = float (*)(float);
Same load() {
  Dl_info self{};
  if (dladdr(reinterpret_cast<const void*>(&load), &self) == 0) return nullptr;
  const std::string file = self.dli_fname;
  void* library = dlopen((file.substr(0, file.rfind('/')) + "/late.so").c_str(), RTLD_NOW | RTLD_LOCAL);
  return library == nullptr ? nullptr : reinterpret_cast<Same>(dlsym(library, "same"));
}
const char* launch(const assay::Call& c) {
  static const Same same = load();
  if (same == nullptr) return "late.so is not there";
  bad::reduce(c);
  const auto y = c.out<float>("y");
  for (int64_t i = 0; i < y.size(); ++i) y.data()[i] = same(y.data()[i]);
  return nullptr;
}
}  // namespace
BAD_KERNEL(launch)
