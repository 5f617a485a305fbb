// The recipes of this tree against the world: versions that suites and PyPI give today, fetched, loaded by a real
// worker under the loader that each takes, proved by what was mapped. Fetches some hundred megabytes once.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "core/op.h"
#include "gate/library_sets.h"
#include "record/verdict.h"
#include "worker/judge_client.h"

namespace assay {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

const fs::path kBuild = ASSAY_BUILD_DIR;

struct Version {
  std::string recipe, words, module, case_id, shows;
  bool own_loader = false;
};
void PrintTo(const Version& version, std::ostream* out) { *out << version.recipe << " " << version.words; }

const std::string kBlas = "gemm:m=33,n=29,k=47,dtype=f64", kDnn = "gemm:m=33,n=29,k=47,dtype=f32";

class LibraryNetwork : public testing::TestWithParam<Version> {
 protected:
  LibraryPlace place() const {
    LibraryPlace place{.root = ASSAY_SOURCE_DIR, .worker = kBuild / "bin/assay-worker"};
    std::ifstream in(kBuild / "library_path.txt");
    for (std::string line; std::getline(in, line);) place.installed.emplace_back(line);
    return place;
  }
  LibrarySet make(const std::string& recipe, const std::string& words, const std::string& isa = "") {
    std::vector<std::string> notes;
    return make_library_set(place(), recipe, words, isa, notes);
  }
  // The record of the case under the set, and what was loaded by then.
  Record check(const LibrarySet& set, std::vector<LoadedLibrary>& loaded) const {
    JudgeSettings settings{.judge_program = kBuild / "bin/assay-judge",
                           .worker_program = kBuild / "bin/assay-worker",
                           .library_path = place().installed,
                           .library_set = set};
    JudgeClient judge(settings);
    const std::vector<KernelInfo> kernels = judge.load(kBuild / "modules" / (GetParam().module + ".so"));
    Record record = judge.check(kernels.at(0), parse(GetParam().case_id));
    loaded = judge.libraries();
    return record;
  }
  static Case parse(const std::string& id) {
    static const OpRegistry ops = make_op_registry();
    return ops.parse_case(id);
  }
};

TEST_P(LibraryNetwork, IsWhatAWorkerLoadsAndComputesWith) {
  const LibrarySet set = make(GetParam().recipe, GetParam().words);
  EXPECT_EQ(!set.loader.empty(), GetParam().own_loader);
  std::vector<LoadedLibrary> loaded;
  const Record record = check(set, loaded);
  EXPECT_EQ(violation(set, loaded), "");
  EXPECT_THAT(record.selection.at("library"), HasSubstr(GetParam().shows));
  const auto accuracy = std::find_if(record.checks.begin(), record.checks.end(),
                                     [](const CheckResult& result) { return result.check == "accuracy"; });
  ASSERT_NE(accuracy, record.checks.end());
  EXPECT_EQ(accuracy->outcome, Outcome::pass) << accuracy->detail;
  EXPECT_FALSE(set.packages.empty());
  if (GetParam().words == "system") return;
  for (const LibrarySet::Package& package : set.packages) EXPECT_EQ(package.sha256.size(), 64u) << package.name;
  EXPECT_NE(violation(make(GetParam().recipe == "onednn" ? "onednn" : "openblas", "system"), loaded), "");
}

// A core that this processor has and another that no version knows: what ran is told either way.
TEST_P(LibraryNetwork, RunsTheCoreThatWasAskedForOrIsRefused) {
  const bool is_blas = GetParam().module == "gemm_openblas";
  LibrarySet set = make(GetParam().recipe, GetParam().words, is_blas ? "Nehalem" : "SSE41");
  std::vector<LoadedLibrary> loaded;
  EXPECT_EQ(environment_refused(set, check(set, loaded).selection), "");
  for (auto& [name, value] : set.environment) value = "Nonsense";
  for (auto& [key, value] : set.expected) value = "Nonsense";
  EXPECT_THAT(environment_refused(set, check(set, loaded).selection), HasSubstr("not Nonsense"));
}

INSTANTIATE_TEST_SUITE_P(
    Openblas, LibraryNetwork,
    testing::Values(Version{"openblas", "system", "gemm_openblas", kBlas, "OpenBLAS 0.3."},
                    Version{"openblas", "bullseye", "gemm_openblas", kBlas, "OpenBLAS 0.3.13"},
                    Version{"openblas", "debian:0.3.21", "gemm_openblas", kBlas, "OpenBLAS 0.3.21"},
                    Version{"openblas", "trixie", "gemm_openblas", kBlas, "OpenBLAS 0.3.29", true},
                    Version{"openblas", "sid", "gemm_openblas", kBlas, "OpenBLAS 0.3.", true},
                    Version{"scipy-openblas32", "0.3.23.293.2", "gemm_openblas", kBlas, "OpenBLAS 0.3.23"},
                    Version{"scipy-openblas32", "0.3.29.265.1", "gemm_openblas", kBlas, "OpenBLAS 0.3.29"},
                    Version{"scipy-openblas32", "0.3.34.481.3", "gemm_openblas", kBlas, "OpenBLAS 0.3.3"}));
INSTANTIATE_TEST_SUITE_P(Onednn, LibraryNetwork,
                         testing::Values(Version{"onednn", "system", "gemm_onednn", kDnn, "oneDNN 3."},
                                         Version{"onednn", "trixie", "gemm_onednn", kDnn, "oneDNN 3.7", true},
                                         Version{"onednn", "sid", "gemm_onednn", kDnn, "oneDNN 3.", true}));

}  // namespace
}  // namespace assay
