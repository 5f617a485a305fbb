// How much memory this process may still take before the machine, or the control group it runs in, is out of it.
#pragma once

#include <cstdint>
#include <filesystem>

namespace assay {

// Bytes: the least of MemAvailable (/proc/meminfo) and, for the control group of this process and each above it, its
// limit less what it holds, what the kernel can drop at once (inactive_file) counted as free. cgroup v2 and v1. What
// cannot be read limits nothing; 2^64 - 1 when nothing can. `root` is for tests: a folder with proc/ and sys/ in it.
uint64_t available_memory(const std::filesystem::path& root = "/");

}  // namespace assay
