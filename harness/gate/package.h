// Which package installed a file, as dpkg and pip keep it: where that very file is to be had again.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace assay {

// Stands for a version, build-id, package or checksum that nobody knows.
inline constexpr const char* kUnknown = "unknown";

struct Package {
  std::string name = kUnknown;    // "deb libc6 2.36-9+deb12u14", "wheel onednn_cpu_gomp 2023.2.0"
  std::string sha256 = kUnknown;  // of the .deb, as apt's lists have it, or of the .whl, as its direct_url.json does
};

// The package of each file, in their order. One that several packages claim, or that is no longer as its package
// installed it, is of none. `root` stands in for "/" in tests, and the files lie below it.
std::vector<Package> packages_of(const std::vector<std::filesystem::path>& files,
                                 const std::filesystem::path& root = "/");

// The name alone, as Package has it: apt, which takes a second to read its lists, is not asked.
std::string package_name_of(const std::filesystem::path& file);

// 64 hexadecimal digits, or "unknown" for a file that cannot be read; of several, as many at once as there are
// processors.
std::string sha256_of(const std::filesystem::path& file);
std::vector<std::string> sha256_of(const std::vector<std::filesystem::path>& files);

}  // namespace assay
