// The files of a source tree, as far as they are compared with another's.
#pragma once

#include <filesystem>
#include <set>
#include <string>

namespace assay {

// The file tree/path, or all files below it, relative to the tree.
std::set<std::string> files_of(const std::filesystem::path& tree, const std::filesystem::path& path);

std::string text_of(const std::filesystem::path& file);  // empty where it cannot be read

// Of the names and contents of the files below a folder.
std::string hash_of_files(const std::filesystem::path& folder);

}  // namespace assay
