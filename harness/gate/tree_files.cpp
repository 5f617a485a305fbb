#include "gate/tree_files.h"

#include <fmt/format.h>

#include <fstream>
#include <sstream>

#include "check/hash.h"

namespace assay {

namespace fs = std::filesystem;

namespace {

std::string content_of(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

bool is_link(const fs::path& path) {
  std::error_code error;
  return fs::is_symlink(path, error);
}

bool leads_to_file_within(const fs::path& link, const fs::path& tree) {
  std::error_code error;
  const fs::path there = fs::canonical(link, error), root = error ? fs::path() : fs::canonical(tree, error);
  if (error || !fs::is_regular_file(there, error)) return false;
  return *there.lexically_relative(root).begin() != "..";
}

}  // namespace

std::set<std::string> files_of(const fs::path& tree, const fs::path& path) {
  for (fs::path above = path.parent_path(); !above.empty(); above = above.parent_path()) {
    if (is_link(tree / above)) return {};
  }
  std::set<std::string> files;
  std::error_code error;
  if (is_link(tree / path) || fs::is_regular_file(tree / path, error)) return {path.string()};
  for (fs::recursive_directory_iterator entry(tree / path, error), end; !error && entry != end;
       entry.increment(error)) {
    if (!entry->is_symlink() && !entry->is_regular_file()) continue;
    files.insert(entry->path().lexically_normal().lexically_relative(tree.lexically_normal()).string());
  }
  return files;
}

std::string text_of(const fs::path& file, const fs::path& tree) {
  if (!is_link(file)) return content_of(file);
  return "link to " + link_target(file) + "\n" + (leads_to_file_within(file, tree) ? content_of(file) : "");
}

std::string link_target(const fs::path& file) {
  std::error_code error;
  return is_link(file) ? fs::read_symlink(file, error).string() : "";
}

std::string hash_of_files(const fs::path& folder) {
  Hasher hasher;
  for (const std::string& file : files_of(folder, ".")) {
    for (const std::string& part : {file, text_of(folder / file, "/")}) {
      const uint64_t bytes = part.size();
      hasher.add(&bytes, sizeof bytes);
      hasher.add(part.data(), part.size());
    }
  }
  return fmt::format("{:016x}", hasher.digest());
}

}  // namespace assay
