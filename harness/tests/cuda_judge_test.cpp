// The judge against CUDA modules that are bad on purpose (bad_modules/cuda/), on a real GPU: each gets its own verdict,
// and no other case's result is lost or changed.
#include <gtest/gtest.h>

#include <algorithm>

#include "bad_module_checks.h"

namespace assay {
namespace {

using CudaRow = bad::Row;

class BadCudaModule : public ::testing::TestWithParam<CudaRow> {
 protected:
  static void SetUpTestSuite() { judge_ = std::make_unique<JudgeClient>(bad::settings(Device::cuda, 4)); }
  static void TearDownTestSuite() { judge_.reset(); }
  static std::unique_ptr<JudgeClient> judge_;  // one for all: no module may spoil it for the next
};
std::unique_ptr<JudgeClient> BadCudaModule::judge_;

TEST_P(BadCudaModule, GetsItsVerdictAndTheNextKernelIsUnharmed) { bad::expect_verdict(*judge_, "cuda/", GetParam()); }

INSTANTIATE_TEST_SUITE_P(
    All, BadCudaModule,
    ::testing::Values(CudaRow{"good", Verdict::pass, ""}, CudaRow{"good", Verdict::pass, "", bad::kZeros},
                      CudaRow{"good", Verdict::pass, "", bad::kNaN}, CudaRow{"good", Verdict::pass, "", bad::kLarge},
                      CudaRow{"illegal_address", Verdict::memory, "ILLEGAL_ADDRESS"},
                      CudaRow{"write_past_end", Verdict::memory, "ILLEGAL_ADDRESS"},
                      CudaRow{"write_before_start", Verdict::memory, "y: byte -1 from its first element was written"},
                      CudaRow{"write_before_start", Verdict::memory, "ILLEGAL_ADDRESS", bad::kStart},
                      CudaRow{"write_past_end", Verdict::memory, "after the elements", bad::kStart},
                      CudaRow{"read_past_end", Verdict::memory, "ILLEGAL_ADDRESS"},
                      CudaRow{"keep_pointer", Verdict::memory, "ILLEGAL_ADDRESS"},
                      CudaRow{"write_past_workspace", Verdict::memory, "workspace: byte +100"},
                      CudaRow{"last_unwritten", Verdict::memory, "unwritten"},
                      CudaRow{"do_nothing", Verdict::memory, "unwritten"},
                      CudaRow{"unchecked_launch", Verdict::memory, "unwritten"},
                      CudaRow{"scribble_input", Verdict::memory, "inputs"},
                      CudaRow{"leak", Verdict::memory, "the device's memory"},
                      CudaRow{"device_assert", Verdict::crashed, "CUDA_ERROR_ASSERT"},
                      CudaRow{"trap", Verdict::crashed, "lost its device"},
                      CudaRow{"misaligned", Verdict::crashed, "MISALIGNED_ADDRESS"},
                      CudaRow{"synchronise", Verdict::contract, "it waits"},
                      CudaRow{"allocate_in_launch", Verdict::memory, "every launch allocates"},
                      CudaRow{"allocate_async", Verdict::memory, "every launch allocates"},
                      CudaRow{"default_stream", Verdict::contract, "y changed while the stream was held back"},
                      CudaRow{"capture_dependent", Verdict::nondeterministic, "from a replayed graph", bad::kZeros},
                      CudaRow{"launch_error", Verdict::crashed, "invalid"},
                      CudaRow{"huge_allocation", Verdict::crashed, "out of memory"},
                      CudaRow{"infinite_kernel", Verdict::timeout, "no answer"},
                      CudaRow{"trust_workspace", Verdict::wrong, "accuracy"},
                      CudaRow{"nondeterministic", Verdict::nondeterministic, "same-run", bad::kZeros},
                      CudaRow{"address_dependent", Verdict::nondeterministic, "same-alignment", bad::kZeros}),
    [](const auto& info) { return std::string(info.param.module) + "_" + std::to_string(info.index); });

// What breaks the rules of launch in several ways shows in each.
TEST(CudaJudge, WaitingAllocatingAndStrayingLaunchesAreNotAsynchronous) {
  JudgeClient judge(bad::settings(Device::cuda, 4));
  for (const auto& [module, detail] : {std::pair{"synchronise", "it waits"},
                                       {"allocate_in_launch", "it waits"},
                                       {"allocate_async", "launch allocates"},
                                       {"default_stream", "y changed while the stream was held back"}}) {
    const Record record = bad::check(judge, std::string("cuda/") + module, bad::kNormal);
    const auto found = std::find_if(record.checks.begin(), record.checks.end(),
                                    [](const CheckResult& result) { return result.check == "asynchronous"; });
    ASSERT_NE(found, record.checks.end());
    EXPECT_EQ(found->outcome, Outcome::fail) << module << "\n" << bad::details(record);
    EXPECT_NE(found->detail.find(detail), std::string::npos) << module << "\n" << bad::details(record);
  }
}

}  // namespace
}  // namespace assay
