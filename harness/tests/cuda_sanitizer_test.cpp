// Each tool of compute-sanitizer against CUDA modules with a fault of its kind (bad_modules/cuda/), on a real GPU: it
// finds its own, which no other tool and, mostly, no other check sees, and nothing in the good one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bad_module_checks.h"
#include "worker/sanitized.h"

namespace assay {
namespace {

struct SanitizerRow {
  Sanitizer tool;
  const char* module;
  Verdict verdict;
  const char* reason;
};
void PrintTo(const SanitizerRow& row, std::ostream* out) { *out << name_of(row.tool) << " of " << row.module; }

class CudaSanitizer : public ::testing::TestWithParam<SanitizerRow> {
 protected:
  static Record check(Sanitizer tool, const std::string& module) {
    JudgeSettings settings = bad::settings(Device::cuda, 60);
    settings.sanitizer = tool;
    settings.sanitizer_program = find_compute_sanitizer();
    JudgeClient judge(settings);
    return bad::check(judge, "cuda/" + module, bad::kNormal);
  }
};

TEST_P(CudaSanitizer, FindsItsOwnFaultAndNoOther) {
  const Record record = check(GetParam().tool, GetParam().module);
  EXPECT_EQ(word_of(record.verdict), word_of(GetParam().verdict)) << bad::details(record);
  EXPECT_THAT(record.reason, ::testing::HasSubstr(GetParam().reason)) << bad::details(record);
}

INSTANTIATE_TEST_SUITE_P(
    All, CudaSanitizer,
    ::testing::Values(SanitizerRow{Sanitizer::memcheck, "good", Verdict::pass, ""},
                      SanitizerRow{Sanitizer::racecheck, "good", Verdict::pass, ""},
                      SanitizerRow{Sanitizer::initcheck, "good", Verdict::pass, ""},
                      SanitizerRow{Sanitizer::synccheck, "good", Verdict::pass, ""},
                      SanitizerRow{Sanitizer::memcheck, "read_padding", Verdict::memory, "Invalid __global__ read"},
                      SanitizerRow{Sanitizer::memcheck, "write_past_end", Verdict::memory, "Invalid __global__ write"},
                      SanitizerRow{Sanitizer::racecheck, "race_in_shared", Verdict::nondeterministic, "Race reported"},
                      SanitizerRow{Sanitizer::initcheck, "read_workspace", Verdict::memory, "Uninitialized __global__"},
                      SanitizerRow{Sanitizer::synccheck, "divergent_barrier", Verdict::crashed, "Barrier error"},
                      SanitizerRow{Sanitizer::memcheck, "read_workspace", Verdict::pass, ""},
                      SanitizerRow{Sanitizer::memcheck, "race_in_shared", Verdict::pass, ""}),
    [](const auto& info) { return std::string(name_of(info.param.tool)) + "_" + info.param.module; });

}  // namespace
}  // namespace assay
