#include "device/available_memory.h"

#include <algorithm>
#include <fstream>
#include <limits>
#include <optional>
#include <string>

namespace assay {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kUnlimited = std::numeric_limits<uint64_t>::max();

// The number after `word` at the start of a line; none where there is no such file, line or number ("max").
std::optional<uint64_t> number_in(const fs::path& file, const std::string& word) {
  std::ifstream in(file);
  for (std::string first; in >> first; in.ignore(std::numeric_limits<std::streamsize>::max(), '\n')) {
    if (first != word) continue;
    uint64_t number = 0;
    return in >> number ? std::optional(number) : std::nullopt;
  }
  return std::nullopt;
}

std::optional<uint64_t> number_in(const fs::path& file) {
  std::ifstream in(file);
  uint64_t number = 0;
  return in >> number ? std::optional(number) : std::nullopt;
}

struct Names {
  const char *limit, *usage, *droppable;
};
constexpr Names kVersion2{"memory.max", "memory.current", "inactive_file"};
constexpr Names kVersion1{"memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"};

uint64_t left_in(const fs::path& group, const Names& names) {
  const std::optional<uint64_t> limit = number_in(group / names.limit), used = number_in(group / names.usage);
  if (!limit || !used) return kUnlimited;
  const uint64_t droppable = number_in(group / "memory.stat", names.droppable).value_or(0);
  const uint64_t held = *used - std::min(*used, droppable);
  return *limit - std::min(*limit, held);
}

// The group at `path` below `mount` and all above it. In a container the path may be that of the host, which is not
// there; the container's own group is then the mount itself.
uint64_t left_in_all(const fs::path& mount, const std::string& path, const Names& names) {
  uint64_t left = left_in(mount, names);
  fs::path group = mount;
  for (const fs::path& part : fs::path(path).relative_path()) left = std::min(left, left_in(group /= part, names));
  return left;
}

}  // namespace

uint64_t available_memory(const fs::path& root) {
  uint64_t available = kUnlimited;
  if (const auto kibibytes = number_in(root / "proc/meminfo", "MemAvailable:")) available = *kibibytes << 10;
  const fs::path mount = root / "sys/fs/cgroup";
  std::ifstream groups(root / "proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {  // "HIERARCHY:CONTROLLERS:PATH"
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1), path = line.substr(second + 1);
    if (controllers.empty()) available = std::min(available, left_in_all(mount, path, kVersion2));
    if (controllers == "memory") available = std::min(available, left_in_all(mount / "memory", path, kVersion1));
  }
  return available;
}

}  // namespace assay
