#include "gate/base_tree.h"

#include <stdlib.h>

#include <cerrno>
#include <cstring>
#include <regex>
#include <utility>

#include "core/error.h"
#include "gate/program.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

bool is_ref(const fs::path& root, const std::string& name) {
  return run_program(
             {"git", "-C", root.string(), "rev-parse", "--verify", "--quiet", "--end-of-options", name + "^{commit}"})
             .status == 0;
}

std::string temporary_folder() {
  std::error_code error;
  const fs::path place = fs::temp_directory_path(error);
  if (error) throw UsageError("TMPDIR: is no folder that is there; set it to one, or leave it out for /tmp");
  std::string name = (place / "assay-base-XXXXXX").string();
  if (::mkdtemp(name.data()) != nullptr) return name;
  throw UsageError("cannot make a folder in " + place.string() + ": " + std::strerror(errno) +
                   "; set TMPDIR to one that can be written");
}

}  // namespace

BaseTree BaseTree::named(const fs::path& root, const std::string& name) {
  std::error_code error;
  if (!fs::is_directory(name, error)) return ref(root, name);
  if (is_ref(root, name)) {
    // Whose folder it is nobody knows: the change may have added it.
    throw UsageError("--base " + name + ": is a folder and a git ref; say ./" + name + " or refs/heads/" + name);
  }
  return folder(fs::absolute(name));
}

BaseTree BaseTree::folder(const fs::path& path) {
  std::error_code error;
  if (!fs::exists(path / "ci" / "policy" / "policy.toml", error)) {
    throw UsageError("--base " + path.string() + ": has no ci/policy/policy.toml; give a checkout of the base");
  }
  return {path, {}};
}

BaseTree BaseTree::ref(const fs::path& root, const std::string& ref) {
  const std::string folder = temporary_folder();
  BaseTree tree{fs::path(folder) / "tree", folder};
  fs::create_directory(tree.path_);
  const std::string archive = folder + "/tree.tar";
  // --end-of-options: a ref that starts with a dash is no option.
  const ProgramEnd read = run_program(
      {"git", "-C", root.string(), "archive", "--format=tar", "--output=" + archive, "--end-of-options", ref});
  if (read.status != 0) {
    throw UsageError("--base " + ref + ": no such folder, and git cannot read it in " + root.string() + ": " +
                     first_line(read.output));
  }
  const ProgramEnd unpacked = run_program({"tar", "-xf", archive, "-C", tree.path_.string()});
  if (unpacked.status != 0) throw Error("cannot unpack the base ref: " + first_line(unpacked.output));
  std::error_code error;
  if (!fs::exists(tree.path_ / "ci" / "policy" / "policy.toml", error)) {
    throw UsageError("--base " + ref + ": has no ci/policy/policy.toml");
  }
  return tree;
}

BaseTree::BaseTree(BaseTree&& other) noexcept
    : path_(std::move(other.path_)), owned_(std::exchange(other.owned_, fs::path())) {}

BaseTree::~BaseTree() {
  std::error_code ignored;
  if (!owned_.empty()) fs::remove_all(owned_, ignored);
}

std::string commit_of(const fs::path& root) {
  const std::vector<std::string> git{"git", "--no-optional-locks", "-C", root.string()};
  const auto answer = [&](std::initializer_list<std::string> asked) {
    std::vector<std::string> command = git;
    command.insert(command.end(), asked);
    return run_program(command);
  };
  // A folder somewhere in a checkout has a prefix there.
  static const std::regex form("\n([0-9a-f]{40,64})\n");
  const ProgramEnd head = answer({"rev-parse", "--show-prefix", "HEAD"});
  std::smatch match;
  if (head.status != 0 || !std::regex_match(head.output, match, form)) return {};
  const ProgramEnd status = answer({"status", "--porcelain", "--untracked-files=normal"});
  if (status.status != 0) return {};
  return match[1].str() + (status.output.empty() ? "" : "-dirty");
}

}  // namespace assay
