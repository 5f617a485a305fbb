// Libraries that choose their kernels by the processor: made to choose others, they have other fingerprints where those
// compute otherwise, and each its own in every process.
#include <gmock/gmock.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "cli_fixture.h"
#include "record/fingerprint.h"

namespace assay {
namespace {

// By id, its facts; with `variable` set for the workers.
std::map<std::string, std::vector<Fact>> fingerprints(const std::string& kernel, const std::string& variable,
                                                      const std::string& value, int repeat = 1) {
  const ProgramEnd end = run_program({kAssay, "fingerprint", kernel, "--json", "--repeat", std::to_string(repeat)},
                                     {{"NO_COLOR", "1"}, {variable, value}});
  EXPECT_EQ(end.status, 0) << variable << "=" << value << "\n" << end.output.substr(0, 2000);
  std::map<std::string, std::vector<Fact>> all;
  const auto document = nlohmann::json::parse(end.output, nullptr, false);
  if (document.is_discarded()) return all;
  for (const auto& one : document.at("fingerprints")) {
    const Fingerprint fingerprint = fingerprint_from_json(one);
    all[fingerprint.id()] = fingerprint.facts;
  }
  return all;
}

// How many different fingerprints of an id there are among the values.
size_t different(const std::string& kernel, const std::string& id, const std::string& variable,
                 const std::vector<std::string>& values) {
  std::set<std::string> told;
  for (const std::string& value : values) {
    std::string text;
    const auto found = fingerprints(kernel, variable, value);
    EXPECT_TRUE(found.contains(id)) << variable << "=" << value;
    if (!found.contains(id)) continue;
    for (const Fact& fact : found.at(id)) text += fact.name + "=" + fact.value + fact.why + "\n";
    told.insert(text);
  }
  return told.size();
}

TEST(LibraryFingerprints, OpenBlasIsAnotherForAnotherCore) {
  // Nehalem has no fused multiply, and Haswell other blocks than it.
  EXPECT_EQ(
      different("gemm/openblas:dtype=f32", "gemm/openblas:dtype=f32", "OPENBLAS_CORETYPE", {"Nehalem", "Haswell"}), 2u);
}

TEST(LibraryFingerprints, OneDnnIsAnotherForAnotherInstructionSet) {
  EXPECT_EQ(different("gemm/onednn:dtype=f32", "gemm/onednn:dtype=f32", "DNNL_MAX_CPU_ISA", {"SSE41", "AVX2"}), 2u);
}

class AHundredProcesses : public ::testing::TestWithParam<const char*> {};

TEST_P(AHundredProcesses, AllTellTheSame) {
  EXPECT_FALSE(fingerprints(GetParam(), "OMP_DYNAMIC", "false", 100).empty());
}

INSTANTIATE_TEST_SUITE_P(LibraryFingerprints, AHundredProcesses,
                         ::testing::Values("gemm/openblas:dtype=f32", "gemm/onednn:dtype=f32", "gemm/simd:dtype=bf16",
                                           "reduce/onednn", "softmax/simd:dtype=f32",
                                           "layernorm_residual/simd:dtype=f32"));

}  // namespace
}  // namespace assay
