#include "gate/tree_files.h"

#include <fmt/format.h>

#include <fstream>
#include <sstream>

#include "check/hash.h"

namespace assay {

namespace fs = std::filesystem;

std::set<std::string> files_of(const fs::path& tree, const fs::path& path) {
  std::set<std::string> files;
  std::error_code error;
  if (fs::is_regular_file(tree / path, error)) return {path.string()};
  for (fs::recursive_directory_iterator entry(tree / path, error), end; !error && entry != end;
       entry.increment(error)) {
    if (entry->is_regular_file()) files.insert(fs::relative(entry->path(), tree).string());
  }
  return files;
}

std::string text_of(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

std::string hash_of_files(const fs::path& folder) {
  Hasher hasher;
  for (const std::string& file : files_of(folder, ".")) {
    for (const std::string& part : {file, text_of(folder / file)}) {
      const uint64_t bytes = part.size();
      hasher.add(&bytes, sizeof bytes);
      hasher.add(part.data(), part.size());
    }
  }
  return fmt::format("{:016x}", hasher.digest());
}

}  // namespace assay
