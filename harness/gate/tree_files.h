// The files of a source tree, as far as they are compared with another's.
#pragma once

#include <filesystem>
#include <set>
#include <string>

namespace assay {

// The file tree/path, or all files below it, relative to the tree. A symbolic link is one of them, whatever it leads
// to, and nothing behind it is.
std::set<std::string> files_of(const std::filesystem::path& tree, const std::filesystem::path& path);

// What a file holds; of a symbolic link where it leads, and what the file there holds if it lies within `tree`. Empty
// where it cannot be read.
std::string text_of(const std::filesystem::path& file, const std::filesystem::path& tree);

// Where a symbolic link leads, as it says itself; empty of everything else.
std::string link_target(const std::filesystem::path& file);

// Of the names and contents of the files below a folder.
std::string hash_of_files(const std::filesystem::path& folder);

}  // namespace assay
