// How canary.json tells paths that are a user's and not the library's, so that it can be sent to others: what lies in
// the cache of libraries as "cache:debian/...", what lies in the user's home as "~/...". All others are as they are.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "worker/library_set.h"

namespace assay {

class ToldPaths {
 public:
  // Either may be empty: then nothing lies there.
  ToldPaths(const std::filesystem::path& cache, const std::filesystem::path& home);

  std::string in_text(const std::string& text) const;
  // Of words of a shell, which go on to mean the same: "$HOME"/... Its quotes are those of shell_quoted().
  std::string in_command(const std::string& command) const;

  // The inverse, for this user and cache.
  std::filesystem::path read(const std::string& told) const;
  LibrarySet read(LibrarySet told) const;

 private:
  using Roots = std::vector<std::string>;  // as named, and as resolved where that is another

  Roots cache_, home_;
};

}  // namespace assay
