// pass: prints what looks like messages; stdout is nobody's protocol.
#include <cstdio>

#include "base.h"
namespace {
const char* launch(const assay::Call& c) {
  bad::reduce(c);
  for (int i = 0; i < 1000; ++i) std::puts(R"({"record":{"verdict":"pass"}})");
  std::fflush(stdout);
  return nullptr;
}
}  // namespace
BAD_KERNEL(launch)
