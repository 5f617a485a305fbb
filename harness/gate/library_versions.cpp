#include "gate/library_versions.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <set>
#include <sstream>

#include "core/error.h"
#include "gate/package.h"
#include "gate/program.h"
#include "load/elf.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

LibraryVersion installed_version(const LibrarySource& source, const fs::path& file) {
  const std::string package = package_name_of(fs::canonical(file));
  std::string version = package.substr(package.rfind(' ') + 1);
  if (version == "unknown" && !version_in_name(file.string()).empty()) version = version_in_name(file.string());
  return {source.kind, file.string(), version, source};
}

std::vector<LibraryVersion> versions_of(const LibraryPlace& place, const LibraryRecipe& recipe,
                                        const LibrarySource& source, std::vector<std::string>& notes) {
  std::vector<LibraryVersion> versions;
  if (source.kind == "folder") return versions;
  if (source.kind == "system") {
    const fs::path file = find_installed(place, recipe.soname);
    if (!file.empty()) {
      versions.push_back(installed_version(source, file));
    } else {
      notes.push_back("nothing is installed that is found as " + recipe.soname +
                      "; install it, or see to 'soname' in " + "ci/libraries/" + recipe.name + ".toml");
    }
    return versions;
  }
  std::vector<std::string> question{"versions", source.kind, source.package};
  question.insert(question.end(), source.suites.begin(), source.suites.end());
  for (const std::string& line : ask_library_script(place, question, notes)) {
    std::istringstream words(line);
    LibraryVersion version{source.kind, "", "", source};
    std::string more;
    if (!(words >> version.from >> version.version) || words >> more) {
      throw Error("ci/library versions: '" + line + "' is no source and version");
    }
    versions.push_back(version);
  }
  if (versions.empty()) {
    notes.push_back((source.kind == "debian" ? "no suite has " : "PyPI has no wheel of ") + source.package +
                    "; see to 'package' and 'suites' in ci/libraries/" + recipe.name + ".toml");
  }
  return versions;
}

// Those of one source that the words mean.
std::vector<LibraryVersion> meant(std::vector<LibraryVersion> versions, const std::string& words) {
  std::erase_if(versions, [&](const LibraryVersion& v) { return v.from != words && !is_meant_by(v.version, words); });
  const auto exact = [&](const LibraryVersion& v) { return v.version == words || v.from == words; };
  if (std::any_of(versions.begin(), versions.end(), exact)) {
    std::erase_if(versions, [&](const LibraryVersion& v) { return !exact(v); });
  }
  return versions;
}

[[noreturn]] void refuse(const LibraryRecipe& recipe, const std::string& words, const std::string& why,
                         const std::vector<LibraryVersion>& versions) {
  std::string all;
  for (const LibraryVersion& v : versions) all += (all.empty() ? "" : ", ") + text_of(v);
  throw UsageError(recipe.name + " " + words + ": " + why + (all.empty() ? "none" : all));
}

LibraryVersion folder_version(const LibraryRecipe& recipe, const LibrarySource& source, const std::string& words) {
  std::error_code error;
  const fs::path folder = fs::canonical(words, error);
  if (error || !fs::is_directory(folder)) throw UsageError(recipe.name + " " + words + ": is no folder");
  return {source.kind, folder.string(), folder.string(), source};
}

}  // namespace

std::string text_of(const LibraryVersion& version) {
  return version.kind == "folder" ? version.version : version.version + " (" + version.from + ")";
}

std::string words_for(const LibraryVersion& version) {
  if (version.kind == "folder") return version.version;
  return version.version == "unknown" ? version.kind : version.kind + ":" + version.version;
}

bool is_meant_by(std::string_view version, std::string_view words) {
  if (words.empty() || !version.starts_with(words)) return false;
  const char next = version.size() == words.size() ? '\0' : version[words.size()];
  const bool ends_in_digit = std::isdigit(static_cast<unsigned char>(words.back())) != 0;
  return !(ends_in_digit && std::isdigit(static_cast<unsigned char>(next)) != 0);
}

bool is_earlier(std::string_view version, std::string_view other) {
  const auto is_digit = [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; };
  const auto number = [&](std::string_view& text) {  // its digits, without zeros before them
    while (text.size() > 1 && text[0] == '0' && is_digit(text[1])) text.remove_prefix(1);
    const auto end = std::find_if_not(text.begin(), text.end(), is_digit);
    const std::string_view digits(text.data(), static_cast<size_t>(end - text.begin()));
    text.remove_prefix(digits.size());
    return digits;
  };
  // '~' comes before the end of the text: 1.2~rc1 before 1.2 (Debian Policy, 5.6.12).
  const auto rank = [](std::string_view text) {
    return text.empty() ? 0 : text[0] == '~' ? -1 : static_cast<int>(static_cast<unsigned char>(text[0])) + 1;
  };
  while (!version.empty() || !other.empty()) {
    if (!version.empty() && !other.empty() && is_digit(version[0]) && is_digit(other[0])) {
      const std::string_view a = number(version), b = number(other);
      if (a.size() != b.size()) return a.size() < b.size();
      if (a != b) return a < b;
      continue;
    }
    if (rank(version) != rank(other)) return rank(version) < rank(other);
    version.remove_prefix(1);
    other.remove_prefix(1);
  }
  return false;
}

std::vector<std::string> ask_library_script(const LibraryPlace& place, const std::vector<std::string>& arguments,
                                            std::vector<std::string>& notes) {
  constexpr std::string_view kNote = "note: ";
  std::vector<std::string> command{(place.root / "ci/library").string()};
  command.insert(command.end(), arguments.begin(), arguments.end());
  const ProgramEnd end = run_program(command);
  std::vector<std::string> lines = lines_of(end.output);
  std::erase(lines, "");
  if (end.status != 0) {
    throw UsageError(lines.empty() ? command.front() + ": exit status " + std::to_string(end.status) : lines.back());
  }
  std::erase_if(lines, [&](const std::string& line) {
    if (!line.starts_with(kNote)) return false;
    notes.push_back(line.substr(kNote.size()));
    return true;
  });
  return lines;
}

fs::path library_cache(const LibraryPlace& place, std::vector<std::string>& notes) {
  const std::vector<std::string> where = ask_library_script(place, {"where"}, notes);
  if (where.size() != 1) throw Error("ci/library where: answers " + std::to_string(where.size()) + " lines");
  return where.front();
}

fs::path find_installed(const LibraryPlace& place, const std::string& soname) {
  std::vector<fs::path> folders = place.installed;
  if (const char* inherited = std::getenv("LD_LIBRARY_PATH"); inherited != nullptr) {
    std::istringstream in(inherited);
    for (std::string folder; std::getline(in, folder, ':');) {
      if (!folder.empty()) folders.emplace_back(folder);
    }
  }
  std::error_code error;
  for (const fs::path& folder : folders) {
    if (fs::exists(folder / soname, error)) return folder / soname;
  }
  constexpr std::string_view kArrow = " => ";
  for (const std::string& line : lines_of(run_program({"/sbin/ldconfig", "-p"}).output)) {
    const size_t name = line.find_first_not_of(" \t"), arrow = line.find(kArrow);
    if (name == std::string::npos || arrow == std::string::npos) continue;
    if (line.compare(name, soname.size() + 1, soname + " ") == 0) return line.substr(arrow + kArrow.size());
  }
  return {};
}

std::vector<LibraryVersion> library_versions(const LibraryPlace& place, const LibraryRecipe& recipe,
                                             std::vector<std::string>& notes) {
  std::vector<LibraryVersion> all;
  for (const LibrarySource& source : recipe.sources) {
    for (LibraryVersion& version : versions_of(place, recipe, source, notes)) all.push_back(std::move(version));
  }
  return all;
}

LibraryVersion find_library_version(const LibraryPlace& place, const LibraryRecipe& recipe, const std::string& words,
                                    std::vector<std::string>& notes) {
  std::string kind, rest = words;
  for (const char* one : {"system", "debian", "wheel", "folder"}) {
    if (words == one) kind = one;
    if (words.starts_with(std::string(one) + ":")) kind = one, rest = words.substr(kind.size() + 1);
  }
  const bool any_of_kind = words == kind;
  if (kind.empty() && words.find('/') != std::string::npos) kind = "folder";
  std::vector<LibraryVersion> there_are;
  bool is_source = false;
  for (const LibrarySource& source : recipe.sources) {
    if (!kind.empty() && source.kind != kind) continue;
    is_source = true;
    if (kind == "folder") return folder_version(recipe, source, rest);
    const std::vector<LibraryVersion> versions = versions_of(place, recipe, source, notes);
    const std::vector<LibraryVersion> found = any_of_kind ? versions : meant(versions, rest);
    std::set<std::string> texts;
    for (const LibraryVersion& v : found) texts.insert(v.version);
    if (texts.size() > 1) refuse(recipe, words, "may be any of these; say which: ", found);
    if (!found.empty()) {
      const LibraryVersion& one = found.front();
      if (one.source.left_out.empty()) return one;
      throw UsageError(recipe.name + " " + text_of(one) + ": is left out: " + one.source.left_out);
    }
    there_are.insert(there_are.end(), versions.begin(), versions.end());
  }
  if (!is_source) {
    throw UsageError(recipe.name + " " + words + ": ci/libraries/" + recipe.name +
                     ".toml has no [[source]] of kind \"" + kind + "\"");
  }
  refuse(recipe, words, "no source has it; there are: ", there_are);
}

}  // namespace assay
