#include "sizes.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <fstream>
#include <map>
#include <utility>

namespace assay::ratios {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kMiB = uint64_t{1} << 20;
constexpr uint64_t kPage = 4096;
constexpr uint64_t kUnknownCache = 256 * kMiB;   // larger than nearly all
constexpr uint64_t kUnknownLevelTwo = kMiB / 4;  // smaller than nearly all
constexpr uint64_t kUnknownMemory = 2 * 1024 * kMiB;

std::string first_line(const fs::path& file) {
  std::ifstream in(file);
  std::string line;
  std::getline(in, line);
  return line;
}

// A number and what follows it; none where the text does not begin with a number.
std::optional<std::pair<uint64_t, std::string>> number_and_rest(const std::string& text) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{}) return std::nullopt;
  return std::pair{value, std::string(end, text.data() + text.size())};
}

// sysfs writes "480K"; the suffixes are powers of 1024.
std::optional<uint64_t> cache_size(const std::string& text) {
  const auto parsed = number_and_rest(text);
  if (!parsed || parsed->first == 0) return std::nullopt;
  if (parsed->second == "K") return parsed->first << 10;
  if (parsed->second == "M") return parsed->first << 20;
  if (parsed->second.empty()) return parsed->first;
  return std::nullopt;
}

bool is_processor(const std::string& name) {
  return name.rfind("cpu", 0) == 0 && name.size() > 3 && name.find_first_not_of("0123456789", 3) == std::string::npos;
}

std::string in_mib(uint64_t bytes) {
  char text[32];
  std::snprintf(text, sizeof text, bytes < 10 * kMiB ? "%.1f MiB" : "%.0f MiB",
                static_cast<double>(bytes) / static_cast<double>(kMiB));
  return text;
}

std::string times(uint64_t bytes, uint64_t cache) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2g", static_cast<double>(bytes) / static_cast<double>(cache));
  return text;
}

uint64_t whole_pages(uint64_t bytes) { return std::max(kPage, bytes / kPage * kPage); }

// Bytes of each cache for data, by its level and the processors that share it.
std::map<std::pair<uint64_t, std::string>, uint64_t> data_caches(const fs::path& root) {
  std::map<std::pair<uint64_t, std::string>, uint64_t> caches;
  std::error_code error;
  for (const auto& cpu : fs::directory_iterator(root / "sys/devices/system/cpu", error)) {
    if (!is_processor(cpu.path().filename().string())) continue;
    for (const auto& cache : fs::directory_iterator(cpu.path() / "cache", error)) {
      const auto level = number_and_rest(first_line(cache.path() / "level"));
      const auto size = cache_size(first_line(cache.path() / "size"));
      if (!level || !size || first_line(cache.path() / "type") == "Instruction") continue;
      caches[{level->first, first_line(cache.path() / "shared_cpu_list")}] = *size;
    }
  }
  return caches;
}

}  // namespace

std::optional<uint64_t> last_level_cache_bytes(const fs::path& root) {
  const auto caches = data_caches(root);
  if (caches.empty()) return std::nullopt;
  uint64_t sum = 0;
  for (const auto& [where, size] : caches) {
    if (where.first == caches.rbegin()->first.first) sum += size;
  }
  return sum;
}

std::optional<uint64_t> level_two_cache_bytes(const fs::path& root) {
  std::optional<uint64_t> smallest;
  for (const auto& [where, size] : data_caches(root)) {
    if (where.first == 2) smallest = std::min(smallest.value_or(size), size);
  }
  return smallest;
}

std::optional<uint64_t> available_memory_bytes(const fs::path& root) {
  std::ifstream in(root / "proc/meminfo");
  for (std::string line; std::getline(in, line);) {
    const std::string key = "MemAvailable:";
    if (line.rfind(key, 0) != 0) continue;
    const size_t digit = line.find_first_not_of(' ', key.size());
    const auto parsed = digit == std::string::npos ? std::nullopt : number_and_rest(line.substr(digit));
    if (!parsed || parsed->second != " kB") return std::nullopt;
    return parsed->first << 10;
  }
  return std::nullopt;
}

ArraySize memory_array_size(std::optional<uint64_t> last_level_cache, std::optional<uint64_t> available) {
  const uint64_t cache = last_level_cache.value_or(kUnknownCache);
  const uint64_t most = available.value_or(kUnknownMemory) / 2 / kMostArrays;
  const uint64_t wanted = kStreamRule * cache;
  const uint64_t bytes = whole_pages(std::min(wanted, most));
  std::string text = "arrays of " + in_mib(bytes) + ", ";
  if (!last_level_cache) return {bytes, text + "last-level cache unknown: NOT known to be beyond it"};
  text += times(bytes, cache) + " times the last-level cache (" + in_mib(cache) + "): ";
  if (bytes >= wanted) return {bytes, text + "beyond it"};
  return {bytes, text + "NOT beyond it, STREAM asks for 4 times and available memory does not allow them"};
}

uint64_t core_array_bytes(std::optional<uint64_t> level_two_cache, int threads) {
  return whole_pages(level_two_cache.value_or(kUnknownLevelTwo) * static_cast<uint64_t>(threads) / 2 / kMostArrays);
}

ArraySize cache_array_size(std::optional<uint64_t> last_level_cache) {
  const uint64_t bytes = whole_pages(last_level_cache.value_or(kUnknownCache) / 8);
  std::string text = "arrays of " + in_mib(bytes) + ", ";
  if (!last_level_cache) return {bytes, text + "last-level cache unknown: NOT known to be within it"};
  return {bytes, text + "an eighth of the last-level cache (" + in_mib(*last_level_cache) + "): within it"};
}

}  // namespace assay::ratios
