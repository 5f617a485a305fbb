#include "gate/told_paths.h"

#include <algorithm>
#include <cctype>

namespace assay {
namespace {

namespace fs = std::filesystem;

const std::string kCache = "cache:", kHome = "~";

std::vector<std::string> roots_of(const fs::path& folder) {
  std::vector<std::string> roots;
  std::error_code error;
  for (const fs::path& one : {folder, fs::weakly_canonical(folder, error)}) {
    std::string root = one.lexically_normal().string();
    if (root.ends_with('/')) root.pop_back();
    if (root.starts_with('/') && std::ranges::find(roots, root) == roots.end()) roots.push_back(root);
  }
  return roots;
}

bool is_of_a_name(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '_' || c == '-';
}

// How long the root is that stands at that place of a text; 0: none does.
size_t root_at(const std::vector<std::string>& roots, const std::string& text, size_t at) {
  if (text[at] != '/' || (at > 0 && is_of_a_name(text[at - 1]))) return 0;
  for (const std::string& root : roots) {
    const size_t end = at + root.size();
    if (text.compare(at, root.size(), root) == 0 && (end == text.size() || !is_of_a_name(text[end]))) {
      return root.size();
    }
  }
  return 0;
}

}  // namespace

ToldPaths::ToldPaths(const fs::path& cache, const fs::path& home) : cache_(roots_of(cache)), home_(roots_of(home)) {}

std::string ToldPaths::in_text(const std::string& text) const {
  std::string told;
  for (size_t at = 0; at < text.size();) {
    if (const size_t cache = root_at(cache_, text, at); cache > 0) {
      told += kCache;
      at += cache + (text.compare(at + cache, 1, "/") == 0 ? 1 : 0);
    } else if (const size_t home = root_at(home_, text, at); home > 0) {
      told += kHome;
      at += home;
    } else {
      told += text[at++];
    }
  }
  return told;
}

std::string ToldPaths::in_command(const std::string& command) const {
  std::string told;
  bool is_quoted = false;
  for (size_t at = 0; at < command.size();) {
    if (const size_t home = root_at(home_, command, at); home > 0) {
      told += is_quoted ? R"('"$HOME"')" : R"("$HOME")";
      at += home;
      continue;
    }
    if (command[at] == '\\' && !is_quoted && at + 1 < command.size()) {
      told += command[at++];  // what comes next is no quote
    } else if (command[at] == '\'') {
      is_quoted = !is_quoted;
    }
    told += command[at++];
  }
  return told;
}

fs::path ToldPaths::read(const std::string& told) const {
  if (told.starts_with(kCache) && !cache_.empty()) return fs::path(cache_.back()) / told.substr(kCache.size());
  if (told.starts_with(kHome + "/") && !home_.empty()) return home_.back() + told.substr(kHome.size());
  return told;
}

LibrarySet ToldPaths::read(LibrarySet told) const {
  for (fs::path& folder : told.folders) folder = read(folder.string());
  for (LibrarySet::File& file : told.files) file.path = read(file.path.string());
  told.loader = read(told.loader.string());
  return told;
}

}  // namespace assay
