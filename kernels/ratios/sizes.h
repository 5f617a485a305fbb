// How large the buffers of the memory-bound cases have to be, so that memory is what is measured.
//
// McCalpin's rule for STREAM (www.cs.virginia.edu/stream/ref.html): each array is at least four times the sum of the
// last-level caches. Below that, a part of the traffic is the cache's.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace assay::ratios {

inline constexpr uint64_t kStreamRule = 4;
inline constexpr uint64_t kMostArrays = 3;  // large tensors of a case: x, residual and y

// Bytes of the last-level caches of all processors together, each once; none where /sys below `root` does not say.
std::optional<uint64_t> last_level_cache_bytes(const std::filesystem::path& root);

// Bytes of the smallest level-2 cache; none where /sys below `root` does not say.
std::optional<uint64_t> level_two_cache_bytes(const std::filesystem::path& root);

// Bytes that may be taken without swapping (MemAvailable of /proc/meminfo below `root`); none where it is not said.
std::optional<uint64_t> available_memory_bytes(const std::filesystem::path& root);

struct ArraySize {
  uint64_t bytes = 0;         // of each large tensor, at least a page
  std::string justification;  // the size, what it was chosen from, and whether it is what the table's title asks
};

// Beyond the last-level cache by McCalpin's rule, within half of the memory that is available.
ArraySize memory_array_size(std::optional<uint64_t> last_level_cache, std::optional<uint64_t> available);
// All arrays of a case fill half of the level-2 caches of `threads` processors, so that they wait for arithmetic alone.
uint64_t core_array_bytes(std::optional<uint64_t> level_two_cache, int threads);
// Two arrays fill a quarter of the last-level cache.
ArraySize cache_array_size(std::optional<uint64_t> last_level_cache);

}  // namespace assay::ratios
