#include "gate/package.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <future>
#include <map>
#include <optional>
#include <string_view>
#include <thread>

#include "core/error.h"
#include "core/number_text.h"
#include "gate/program.h"
#include "record/json_text.h"
#include "record/run_folder.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

constexpr size_t kDigits = 64;  // of SHA-256, in hexadecimal

bool is_sha256(std::string_view text) { return text.size() == kDigits && is_hexadecimal(text); }

std::string output_of(std::vector<std::string> command, const fs::path& root) {
  if (root != "/") command.insert(command.begin() + 1, "--root=" + root.string());
  const ProgramEnd end = run_program(command, {{"LC_ALL", "C"}});
  return end.status == 127 ? "" : end.output;
}

// ---- Debian ----

struct Deb {
  std::string package;  // "libc6:amd64"
  std::string version;
};

// dpkg knows a file by the path it was packed with, from before /lib became a link into /usr.
std::vector<std::string> packed_paths(const fs::path& file, const fs::path& root) {
  const std::string path = "/" + file.lexically_relative(root).string();
  if (path.find_first_of("*?[\\\n") != std::string::npos) return {};  // dpkg-query would take it for a pattern
  constexpr std::string_view kUsr = "/usr/";
  return path.starts_with(kUsr) ? std::vector<std::string>{path, path.substr(kUsr.size() - 1)}
                                : std::vector<std::string>{path};
}

// Lines of `dpkg --verify` end in the paths of files that are not as they were installed.
bool is_as_installed(const std::string& package, const std::string& path, const fs::path& root) {
  const std::vector<std::string> lines = lines_of(output_of({"dpkg", "--verify", package}, root));
  return std::none_of(lines.begin(), lines.end(), [&](const std::string& line) { return line.ends_with(" " + path); });
}

std::optional<Deb> deb_of(const fs::path& file, const fs::path& root) {
  for (const std::string& path : packed_paths(file, root)) {
    for (const std::string& line : lines_of(output_of({"dpkg-query", "--search", path}, root))) {
      const std::string end = ": " + path;
      if (!line.ends_with(end)) continue;
      Deb deb{line.substr(0, line.size() - end.size()), ""};
      if (deb.package.find(' ') != std::string::npos) return std::nullopt;  // "a, b" share it, or it is diverted
      deb.version = output_of({"dpkg-query", "--show", "--showformat=${Version}", deb.package}, root);
      const bool is_version = !deb.version.empty() && deb.version.find_first_of(" \n") == std::string::npos;
      if (!is_version || !is_as_installed(deb.package, path, root)) return std::nullopt;
      return deb;
    }
  }
  return std::nullopt;
}

std::string name_of(const Deb& deb) {
  return "deb " + deb.package.substr(0, deb.package.find(':')) + " " + deb.version;
}

// The checksums of those that apt's lists still have, by name_of(). One question for all: apt reads its lists anew for
// each.
std::map<std::string, std::string> checksums_of(const std::vector<Deb>& debs, const fs::path& root) {
  std::vector<std::string> command{"apt-cache"};
  if (root != "/") command.insert(command.end(), {"-o", "Dir=" + root.string()});
  command.insert(command.end(), {"show", "--no-all-versions"});
  for (const Deb& deb : debs) command.push_back(deb.package + "=" + deb.version);
  const ProgramEnd end = debs.empty() ? ProgramEnd{} : run_program(command, {{"LC_ALL", "C"}});
  std::map<std::string, std::string> checksums;
  std::string package, version;
  for (const std::string& line : lines_of(end.output)) {
    const auto value_after = [&](std::string_view field) {
      return line.starts_with(field) ? std::optional(line.substr(field.size())) : std::nullopt;
    };
    if (line.empty()) package.clear();
    if (const auto value = value_after("Package: ")) package = *value;
    if (const auto value = value_after("Version: ")) version = *value;
    const auto sum = value_after("SHA256: ");
    if (sum && is_sha256(*sum) && !package.empty()) checksums["deb " + package + " " + version] = *sum;
  }
  return checksums;
}

// ---- Python ----

// Base64 of the alphabet for URLs, as RECORD files have it, in hexadecimal; empty for what is none.
std::string hexadecimal(std::string_view base64) {
  constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  std::string text;
  uint32_t bits = 0;
  int waiting = 0;
  for (const char c : base64.substr(0, base64.find('='))) {
    const size_t value = kAlphabet.find(c);
    if (value == std::string_view::npos) return "";
    bits = bits << 6 | static_cast<uint32_t>(value);
    waiting += 6;
    if (waiting < 8) continue;
    waiting -= 8;
    text += fmt::format("{:02x}", bits >> waiting & 0xFF);
  }
  return text;
}

// The checksum that a wheel's RECORD has of a file: lines "path,sha256=...,size", paths from the folder of the wheel's
// own on. Empty where it does not list the file.
std::string recorded_sha256(const fs::path& wheel, const fs::path& file) {
  constexpr std::string_view kKind = "sha256=";
  std::string text;
  try {
    text = read_whole(wheel / "RECORD");
  } catch (const UsageError&) {
    return "";
  }
  for (const std::string& line : lines_of(text)) {
    const size_t size_at = line.rfind(',');
    const size_t sum_at = size_at == std::string::npos || size_at == 0 ? size_at : line.rfind(',', size_at - 1);
    if (sum_at == std::string::npos || sum_at == 0) continue;
    if ((wheel.parent_path() / line.substr(0, sum_at)).lexically_normal() != file) continue;
    const std::string sum = line.substr(sum_at + 1, size_at - sum_at - 1);
    return sum.starts_with(kKind) ? hexadecimal(std::string_view(sum).substr(kKind.size())) : "";
  }
  return "";
}

// That of the wheel itself, which pip keeps of one it was given by its address: PEP 610.
std::string wheel_sha256(const fs::path& wheel) {
  try {
    const nlohmann::json told = parse_json(read_whole(wheel / "direct_url.json"));
    const std::string sum = told.at("archive_info").at("hashes").at("sha256");
    return is_sha256(sum) ? sum : kUnknown;
  } catch (const UsageError&) {
    return kUnknown;
  } catch (const nlohmann::json::exception&) {
    return kUnknown;
  }
}

std::vector<fs::path> entries_of(const fs::path& folder) {
  std::vector<fs::path> entries;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    entries.push_back(entry->path());
  }
  std::sort(entries.begin(), entries.end());
  return entries;
}

// Wheels that may have installed into `folder`: those unpacked there, and those of an environment whose lib/ it is.
std::vector<fs::path> wheels_beside(const fs::path& folder) {
  std::vector<fs::path> wheels;
  const auto add_from = [&](const fs::path& site) {
    for (const fs::path& entry : entries_of(site)) {
      if (entry.extension() == ".dist-info") wheels.push_back(entry);
    }
  };
  add_from(folder);
  for (const fs::path& entry : entries_of(folder)) {
    if (entry.filename().string().starts_with("python")) add_from(entry / "site-packages");
  }
  return wheels;
}

std::optional<Package> wheel_of(const fs::path& file, const fs::path& root) {
  for (fs::path folder = file.parent_path(); folder != root && folder.has_relative_path();
       folder = folder.parent_path()) {
    for (const fs::path& wheel : wheels_beside(folder)) {
      const std::string recorded = recorded_sha256(wheel, file);
      if (recorded.empty()) continue;
      if (recorded != sha256_of(file)) return std::nullopt;
      std::string name = wheel.stem().string();  // onednn_cpu_gomp-2023.2.0
      const size_t dash = name.rfind('-');
      if (dash != std::string::npos) name[dash] = ' ';
      return Package{"wheel " + name, wheel_sha256(wheel)};
    }
  }
  return std::nullopt;
}

}  // namespace

std::vector<Package> packages_of(const std::vector<fs::path>& files, const fs::path& root) {
  std::vector<Package> packages;
  std::vector<Deb> debs;
  for (const fs::path& file : files) {
    if (const auto deb = deb_of(file, root)) {
      packages.push_back({name_of(*deb), kUnknown});
      debs.push_back(*deb);
    } else {
      packages.push_back(wheel_of(file, root).value_or(Package{}));
    }
  }
  const std::map<std::string, std::string> checksums = checksums_of(debs, root);
  for (Package& package : packages) {
    if (const auto sum = checksums.find(package.name); sum != checksums.end()) package.sha256 = sum->second;
  }
  return packages;
}

// A program that a busy machine did not let run says nothing of the file.
std::string sha256_of(const fs::path& file) {
  constexpr int kTries = 3;
  for (int i = 0; i < kTries; ++i) {
    const ProgramEnd end = run_program({"sha256sum", "--zero", "--", file.string()});
    const std::string sum = end.output.substr(0, kDigits);
    if (end.status == 0 && is_sha256(sum)) return sum;
  }
  return kUnknown;
}

std::vector<std::string> sha256_of(const std::vector<fs::path>& files) {
  std::vector<std::string> sums(files.size());
  std::atomic<size_t> next = 0;
  std::vector<std::future<void>> at_work;
  for (size_t i = 0; i < std::min<size_t>(files.size(), std::max(1u, std::thread::hardware_concurrency())); ++i) {
    at_work.push_back(std::async(std::launch::async, [&] {
      for (size_t file = next++; file < files.size(); file = next++) sums[file] = sha256_of(files[file]);
    }));
  }
  for (std::future<void>& one : at_work) one.wait();
  for (std::future<void>& one : at_work) one.get();
  return sums;
}

}  // namespace assay
