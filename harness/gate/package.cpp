#include "gate/package.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <future>
#include <iterator>
#include <map>
#include <memory>
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

// What one program says of all of `more` at once.
std::vector<std::string> lines_about(std::vector<std::string> command, const std::vector<std::string>& more,
                                     const fs::path& root) {
  if (more.empty()) return {};
  command.insert(command.end(), more.begin(), more.end());
  return lines_of(output_of(std::move(command), root));
}

// One question for all files: dpkg reads its whole database anew for each.
std::vector<std::optional<Deb>> debs_of(const std::vector<fs::path>& files, const fs::path& root) {
  std::vector<std::string> paths, names;
  for (const fs::path& file : files) std::ranges::copy(packed_paths(file, root), std::back_inserter(paths));
  // "PACKAGE: PATH"; "a, b" share a path that they both have, and one that is diverted is told in more words.
  const std::vector<std::string> found = lines_about({"dpkg-query", "--search"}, paths, root);
  const auto package_of = [&](const std::string& path) -> std::string {
    const std::string end = ": " + path;
    const auto line = std::ranges::find_if(found, [&](const std::string& one) { return one.ends_with(end); });
    return line == found.end() ? "" : line->substr(0, line->size() - end.size());
  };
  std::vector<std::pair<std::string, std::string>> owners;  // of each file: its package, and its path there
  for (const fs::path& file : files) {
    auto& [package, path] = owners.emplace_back();
    for (const std::string& packed : packed_paths(file, root)) {
      package = package_of(path = packed);
      if (!package.empty()) break;
    }
    if (package.find(' ') != std::string::npos) package.clear();
    if (!package.empty() && std::ranges::find(names, package) == names.end()) names.push_back(package);
  }
  std::map<std::string, std::string> versions;
  for (const std::string& line :
       lines_about({"dpkg-query", "--show", "--showformat=${binary:Package} ${Version}\\n"}, names, root)) {
    const size_t space = line.find(' ');
    const bool is_pair = space != std::string::npos && line.find(' ', space + 1) == std::string::npos;
    if (is_pair) versions[line.substr(0, space)] = line.substr(space + 1);
  }
  // Its lines end in the paths of files that are not as they were installed.
  const std::vector<std::string> edited = lines_about({"dpkg", "--verify"}, names, root);
  std::vector<std::optional<Deb>> debs;
  for (const auto& [package, path] : owners) {
    const auto version = versions.find(package);
    const auto is_of_it = [&, end = " " + path](const std::string& line) { return line.ends_with(end); };
    const bool is_known = version != versions.end() && !version->second.empty();
    debs.push_back(is_known && std::ranges::none_of(edited, is_of_it) ? std::optional(Deb{package, version->second})
                                                                      : std::nullopt);
  }
  return debs;
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

std::string package_name_of(const fs::path& file) {
  const fs::path root = "/";
  const std::optional<Deb> deb = debs_of({file}, root).front();
  return deb ? name_of(*deb) : wheel_of(file, root).value_or(Package{}).name;
}

std::vector<Package> packages_of(const std::vector<fs::path>& files, const fs::path& root) {
  std::vector<Package> packages;
  std::vector<Deb> debs;
  const std::vector<std::optional<Deb>> found = debs_of(files, root);
  for (size_t i = 0; i < files.size(); ++i) {
    if (const auto& deb = found[i]) {
      packages.push_back({name_of(*deb), kUnknown});
      debs.push_back(*deb);
    } else {
      packages.push_back(wheel_of(files[i], root).value_or(Package{}));
    }
  }
  const std::map<std::string, std::string> checksums = checksums_of(debs, root);
  for (Package& package : packages) {
    if (const auto sum = checksums.find(package.name); sum != checksums.end()) package.sha256 = sum->second;
  }
  return packages;
}

// By a library, which has the processor's own instructions for it: the program `sha256sum` has not.
std::string sha256_of(const fs::path& file) {
  constexpr size_t kPart = 1 << 20;
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> hash(EVP_MD_CTX_new(), &EVP_MD_CTX_free);
  std::ifstream in(file, std::ios::binary);
  bool is_whole = in.is_open() && hash && EVP_DigestInit_ex(hash.get(), EVP_sha256(), nullptr) == 1;
  for (std::vector<char> part(kPart); is_whole && !in.eof();) {
    in.read(part.data(), static_cast<std::streamsize>(part.size()));
    is_whole = !in.bad() && EVP_DigestUpdate(hash.get(), part.data(), static_cast<size_t>(in.gcount())) == 1;
  }
  unsigned char bytes[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  if (!is_whole || EVP_DigestFinal_ex(hash.get(), bytes, &size) != 1) return kUnknown;
  std::string sum;
  for (unsigned int i = 0; i < size; ++i) sum += fmt::format("{:02x}", bytes[i]);
  return sum;
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
