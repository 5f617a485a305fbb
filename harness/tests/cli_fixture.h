// The command as tests call it, with the real judge and workers and the modules of bad_modules/.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "gate/program.h"
#include "scratch.h"

namespace assay {

namespace fs = std::filesystem;

inline const fs::path kBuild = ASSAY_BUILD_DIR;
inline const std::string kAssay = (kBuild / "bin" / "assay").string();
inline const std::string kCase = "reduce/bad:kind=max,n=7,dtype=f32";

inline std::string module(const std::string& name) { return (kBuild / "bad_modules" / (name + ".so")).string(); }

inline int64_t line_count(const std::string& text) { return std::count(text.begin(), text.end(), '\n'); }

inline ProgramEnd assay(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), kAssay);
  return run_program(arguments, {{"NO_COLOR", "1"}, {"CI", ""}});
}

class Cli : public ::testing::Test {
 protected:
  ProgramEnd check(const std::string& name, const std::string& filter, std::vector<std::string> more = {}) {
    std::vector<std::string> arguments{"check", "--module", module(name), "--filter", filter, "--out", run};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return assay(arguments);
  }

  // A source tree as far as judging needs one, to be edited. Without what was observed: on a machine that has some,
  // another build of a kernel would not be the approved one.
  std::string tree() {
    for (const char* part : {"ci/policy", "golden"}) {
      fs::create_directories((folder / "root" / part).parent_path());
      fs::copy(fs::path(ASSAY_SOURCE_DIR) / part, folder / "root" / part, fs::copy_options::recursive);
    }
    fs::remove_all(folder / "root" / "golden" / "observed");
    return (folder / "root").string();
  }

  Scratch scratch;
  const fs::path& folder = scratch.path;
  std::string run = (folder / "run").string();
};

}  // namespace assay
