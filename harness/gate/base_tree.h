// The tree a change is compared with: its policy and goldens judge the change, and what it had that the change has not
// is a finding. And what git calls the change itself.
#pragma once

#include <filesystem>
#include <string>

namespace assay {

class BaseTree {
 public:
  // As --base names it: the folder of a checkout, or a ref of the repository at `root`. Throws UsageError for what is
  // both.
  static BaseTree named(const std::filesystem::path& root, const std::string& name);
  // A checkout that is already there. Throws UsageError when it is not one.
  static BaseTree folder(const std::filesystem::path& path);
  // Reads `ref` of the repository at `root` into a temporary folder, removed again with this object.
  static BaseTree ref(const std::filesystem::path& root, const std::string& ref);

  BaseTree(BaseTree&& other) noexcept;
  BaseTree& operator=(BaseTree&&) = delete;
  ~BaseTree();

  const std::filesystem::path& path() const { return path_; }

 private:
  BaseTree(std::filesystem::path path, std::filesystem::path owned)
      : path_(std::move(path)), owned_(std::move(owned)) {}

  std::filesystem::path path_;
  std::filesystem::path owned_;  // removed at the end; empty for a folder
};

// The commit that is checked out in `root`, its whole hash; with "-dirty" behind it where a file that git does not
// ignore is another, missing or new. Empty where `root` is no checkout of its own, or git cannot say.
std::string commit_of(const std::filesystem::path& root);

}  // namespace assay
