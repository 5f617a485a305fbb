// What memory can do, against which kernels are measured: copies, and reading alone, in several forms each, because
// which form is fastest depends on the machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace assay::ratios {

struct Traffic {
  std::string name;
  void (*run)(std::byte* memory, uint64_t bytes, int threads);
};

// The first half of `memory` (whose content is lost) goes to the second half: `bytes` are read or written. A copy
// counts what it reads and what it writes, as STREAM does. `memory` begins at a page, `bytes` is rounded down to whole
// pages.
const std::vector<Traffic>& copies();
// All of `bytes` is read.
const std::vector<Traffic>& reads();

}  // namespace assay::ratios
