// Which shared objects the workers of a judge had mapped, by build, and for which modules. Only workers that hold one
// module tell: what those map may be what that module computes with.
#pragma once

#include <sys/types.h>

#include <ctime>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "record/run_json.h"

namespace assay {

class LoadedLibraries {
 public:
  // What process `pid`, a worker that has answered, maps now. `module`: the file that it holds alone; empty where it
  // may hold several.
  void note(pid_t pid, const std::string& module);

  // What `module` has mapped by now is what it brought when it was loaded.
  void note_brought(const std::string& module);
  // What it has mapped since: identities (record/run_json.h), sorted.
  std::vector<std::string> late(const std::string& module) const;

  std::vector<LoadedLibrary> all() const;

 private:
  const std::string& build_at(const std::string& path);
  std::set<std::string> of_module(const std::string& module) const;

  std::map<std::tuple<std::string, dev_t, ino_t, time_t, long>, std::string> builds_;  // by path and file there
  std::map<std::pair<std::string, std::string>, LoadedLibrary> libraries_;             // by path and build
  std::map<std::string, std::set<std::string>> brought_;                               // by module
};

}  // namespace assay
