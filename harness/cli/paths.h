// Where things are: the programs beside this one, the modules, the source tree.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "cli/options.h"
#include "gate/judge.h"

namespace assay {

// Of the build that this program is of, and a program in it. Throws UsageError when it is not there.
std::filesystem::path build_folder();
std::filesystem::path program(const char* name);

// The source tree: --root, else the one this program was built from. Throws UsageError when it has no ci/policy.
std::filesystem::path source_root(const Options& options);

// " --root DIR" for a line to paste; empty where the caller gave none.
std::string root_argument(const Options& options);

// What a command writes into: the folder that it was given or, where that is empty, runs/BEFORE<time>AFTER below the
// root, with a number behind it where that is there already. Such a one is made at once, so that no other command has
// it, however close they begin, and goes again if nothing was written into it. Throws UsageError when it cannot be
// made.
class OutFolder {
 public:
  OutFolder(const std::filesystem::path& given, const std::filesystem::path& root, const std::string& before,
            const std::string& after);
  OutFolder(const OutFolder&) = delete;
  OutFolder& operator=(const OutFolder&) = delete;
  ~OutFolder();

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  bool is_made_;
};

// The modules a command is about, absolute and in name order. Throws UsageError when there are none.
std::vector<std::filesystem::path> module_files(const Options& options);

// Whether these are the modules of the build that this program is of.
bool judges_own_modules(const Options& options);

// Folders of libraries that lie outside the system's own, as the build found them: library_path.txt, one a line.
std::vector<std::filesystem::path> own_library_path();

// How judges are started: the programs beside this one, own_library_path(), and the set that --library asks for.
JudgeSettings judge_settings(const Options& options);

}  // namespace assay
