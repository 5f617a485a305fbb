// The canary command over the real OpenBLAS and copies of it that are altered on purpose.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli_fixture.h"
#include "load/elf.h"

namespace assay {

class CanaryCli : public ::testing::Test {
 protected:
  CanaryCli() { ::setenv("ASSAY_LIBRARIES", (scratch.path / "libraries").c_str(), 1); }

  // OpenBLAS as the build found it.
  static fs::path installed() {
    const ProgramEnd end = run_program({"ldconfig", "-p"}, {{"PATH", "/usr/sbin:/sbin:/usr/bin:/bin"}});
    const size_t line = end.output.find("libopenblas.so.0"), arrow = end.output.find("=> ", line);
    if (line == std::string::npos || arrow == std::string::npos) return {};
    return fs::canonical(end.output.substr(arrow + 3, end.output.find('\n', arrow) - arrow - 3));
  }

  // A copy whose soname is `soname`, as long as its own.
  void copy(const fs::path& to, const std::string& soname) const {
    std::string bytes = content_of(installed());
    const std::string own = std::string("libopenblas.so.0") + '\0';
    const size_t at = bytes.find(own);
    ASSERT_NE(at, std::string::npos);
    bytes.replace(at, soname.size(), soname);
    write_text(to, bytes);
  }

  // A copy that is another file and the same code: what it takes is measured.
  fs::path edited_copy() const {
    const fs::path folder = scratch.path / "same";
    copy(folder / "libopenblas.so.0", "libopenblas.so.0");
    std::ofstream(folder / "libopenblas.so.0", std::ios::binary | std::ios::app) << '\n';
    return folder;
  }

  // A folder with the library and something planted in it: PLANT_WRONG, ...
  fs::path planted(const std::string& what) const { return planted(what, scratch.path); }
  fs::path planted(const std::string& what, const fs::path& in) const {
    const fs::path folder = in / what;
    copy(folder / "libplantedb.so.0", "libplantedb.so.0");
    const ProgramEnd end =
        run_program({"cc", "-O2", "-shared", "-fPIC", "-Wl,--build-id", "-Wl,-soname,libopenblas.so.0",
                     "-Wl,--no-as-needed", "-D" + what, "-D_GNU_SOURCE", "-o", (folder / "libopenblas.so.0").string(),
                     kPlant, (folder / "libplantedb.so.0").string()});
    EXPECT_EQ(end.status, 0) << end.output;
    return folder;
  }

  ProgramEnd canary(const fs::path& candidate, std::vector<std::string> more = {}) const {
    std::vector<std::string> arguments{"canary",   "openblas",    "--candidate", candidate.string(),
                                       "--module", kModule,       "--unpinned",  "--no-report",
                                       "--out",    out().string()};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return assay(arguments);
  }
  fs::path out() const { return scratch.path / "canary"; }
  nlohmann::json written() const { return nlohmann::json::parse(content_of(out() / "canary.json")); }

  // What canary.json holds of reasons that ask for more than PROMOTE, "kind what" each.
  std::vector<std::string> grave() const {
    std::vector<std::string> all;
    const nlohmann::json document = written();
    for (const nlohmann::json& reason : document.at("reasons")) {
      if (reason.at("asks") == "PROMOTE") continue;
      all.push_back(reason.at("kind").get<std::string>() + " " + reason.at("what").get<std::string>());
    }
    return all;
  }

  static inline const std::string kPlant = ASSAY_SOURCE_DIR "/harness/tests/canary_plants/plant.c";
  static inline const std::string kModule = (kBuild / "modules" / "gemm_openblas.so").string();
  static inline const std::vector<std::string> kFewCases{"--no-latency", "--filter",
                                                         "gemm/openblas:m=33,n=17,k=65,dtype=f32", "--filter",
                                                         "gemm/openblas:m=9,n=2,k=17,dtype=f32"};
  Scratch scratch;
};

}  // namespace assay
