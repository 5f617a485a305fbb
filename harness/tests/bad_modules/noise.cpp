// wrong: adds to each element's lowest byte what nobody can know, as who does not clear a register does.
#include <cstring>

#include "base.h"

namespace {
const char* launch(const assay::Call& c) {
  static uint32_t noise = 1;
  bad::reduce(c);
  const auto y = c.out<float>("y");
  for (float* element = y.data(); element != bad::end_of(y); ++element) {
    noise = 1664525 * noise + 1013904223;  // Knuth, The Art of Computer Programming 2, 3.3.4, table 1
    uint32_t bits;
    std::memcpy(&bits, element, sizeof bits);
    bits = (bits & ~0xffu) | noise >> 24;
    std::memcpy(element, &bits, sizeof bits);
  }
  return nullptr;
}
}  // namespace
BAD_KERNEL(launch)
