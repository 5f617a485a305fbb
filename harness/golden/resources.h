// What a case's launch takes, as its record tells: workspace, and of each GPU kernel that it queued (captured from a
// graph, worker/examination.cpp) registers, local memory and shared memory. More of it than was approved is growth.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "record/record.h"

namespace assay {

struct KernelResources {
  int64_t registers = 0;     // a thread
  int64_t local_bytes = 0;   // a thread: spills and arrays that no register holds
  int64_t shared_bytes = 0;  // a block, static and dynamic

  bool operator==(const KernelResources&) const = default;
};

struct Resources {
  std::optional<uint64_t> workspace;     // bytes; nothing: nobody noted it
  std::vector<KernelResources> kernels;  // in the order they are queued; empty: none, or nobody noted them

  bool operator==(const Resources&) const = default;
};

Resources resources_of(const Record& record);

// "128/0/49152,40/8/0": registers/local/shared of each.
std::string print_kernels(const std::vector<KernelResources>& kernels);
bool parse_kernels(std::string_view text, std::vector<KernelResources>& kernels);

struct Growth {
  std::string what;  // "registers of a thread"
  int64_t before = 0, now = 0;
};
// Kernel by kernel where there are as many as before, else by the greediest of either side.
std::vector<Growth> growth(const Resources& approved, const Resources& now);

}  // namespace assay
