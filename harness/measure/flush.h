// Cold measurements: evicts address ranges from every level of the CPU's caches, so that the next access of each line
// goes to memory. Content does not change: modified lines are written back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace assay {

struct AddressRange {
  const void* begin = nullptr;
  size_t bytes = 0;
};

// Returns the number of cache lines evicted. Uses CLFLUSHOPT where the CPU has it, else CLFLUSH; a full fence follows,
// so the eviction is done on return. Throws Error where the architecture gives user code no such instruction.
size_t flush_from_caches(std::span<const AddressRange> ranges);

// What it uses here: "clflushopt", "clflush" or "none".
const char* flush_instruction();

}  // namespace assay
