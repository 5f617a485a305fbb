// The judge against CUDA modules that are bad on purpose (bad_modules/cuda/), on a real GPU: each gets its own verdict,
// and no other case's result is lost or changed.
#include <gtest/gtest.h>

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
                      CudaRow{"allocate_in_launch", Verdict::contract, "asynchronous"},
                      CudaRow{"allocate_async", Verdict::contract, "launch allocates"},
                      CudaRow{"default_stream", Verdict::contract, "y changed while the stream was held back"},
                      CudaRow{"capture_dependent", Verdict::nondeterministic, "from a replayed graph", bad::kZeros},
                      CudaRow{"load_dependent", Verdict::nondeterministic, "same-load", bad::kZeros},
                      CudaRow{"launch_error", Verdict::crashed, "invalid"},
                      CudaRow{"huge_allocation", Verdict::crashed, "out of memory"},
                      CudaRow{"infinite_kernel", Verdict::timeout, "no answer"},
                      CudaRow{"trust_workspace", Verdict::wrong, "accuracy"},
                      CudaRow{"nondeterministic", Verdict::nondeterministic, "same-run", bad::kZeros},
                      CudaRow{"address_dependent", Verdict::nondeterministic, "same-alignment", bad::kZeros}),
    [](const auto& info) { return std::string(info.param.module) + "_" + std::to_string(info.index); });

TEST(CudaJudge, ACaseTooLargeForTheGpuIsAnErrorOfThatCaseAlone) {
  const OpRegistry ops = make_op_registry();
  JudgeClient judge(bad::settings(Device::cuda, 4));
  const auto kernel = judge.load(bad::module_named("cuda/good")).at(0);
  try {
    (void)judge.check(kernel, ops.parse_case("reduce:kind=max,outer=1,n=100000000000,inner=1,dtype=f32"));
    FAIL() << "400 GB were given";
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("more than this GPU gives"), std::string::npos) << e.what();
  }
  EXPECT_EQ(bad::concluded(judge.check(kernel, ops.parse_case(bad::kNormal))).verdict, Verdict::pass);
}

}  // namespace
}  // namespace assay
