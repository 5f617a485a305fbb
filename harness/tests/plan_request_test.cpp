// What each command plans, from its arguments: on the device it names, and what is given by its whole id.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/job.h"
#include "gate_fakes.h"

namespace assay {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> planned(const std::vector<std::string>& arguments, const std::string& device) {
  const OpRegistry ops = fake_ops();
  std::vector<KernelInfo> kernels = fake_kernels();
  for (KernelInfo& kernel : kernels) kernel.target = device;
  std::vector<std::string> ids;
  for (const PlannedCase& one : make_plan(ops, kernels, {}, plan_request(parse_options(arguments))).cases) {
    ids.push_back(one.id);
  }
  return ids;
}

const std::string kId = "gemm/simd:m=5,n=7,dtype=f32";

TEST(PlanRequest, AReproIsOfItsOneCaseOnTheDeviceItNames) {
  EXPECT_THAT(planned({"repro", kId}, "cpu"), ElementsAre(kId));
  EXPECT_THAT(planned({"repro", kId, "--device", "cuda"}, "cuda"), ElementsAre(kId));
  EXPECT_THAT(planned({"repro", "--sanitizer", "memcheck", kId, "--device", "cuda"}, "cuda"), ElementsAre(kId));
}

TEST(PlanRequest, CasesAreListedOfTheDeviceThatIsNamed) {
  const std::vector<std::string> list{"list", "--cases", "--tier", "ci", "--filter", "gemm/simd", "--device", "cuda"};
  EXPECT_EQ(planned(list, "cuda").size(), 9u * 2 + 1) << "seeds 1 and 2, and what only a device gets";
}

TEST(PlanRequest, CommandsDifferInWhatIsTimed) {
  const auto timing = [](const char* command) { return plan_request(parse_options({command})).timing; };
  EXPECT_EQ(timing("check"), Timing::none);
  EXPECT_EQ(timing("bench"), Timing::only);
  EXPECT_EQ(timing("gate"), Timing::also);
  EXPECT_EQ(timing("list"), Timing::none);
}

}  // namespace
}  // namespace assay
