// The judge against CUDA modules that are bad on purpose (bad_modules/cuda/), on a real GPU: each gets its own verdict,
// and no other case's result is lost or changed.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <limits>

#include "bad_cuda_rows.h"
#include "bad_module_checks.h"
#include "record/json.h"

namespace assay {
namespace {

class BadCudaModule : public ::testing::TestWithParam<bad::Row> {
 protected:
  static void SetUpTestSuite() { judge_ = std::make_unique<JudgeClient>(bad::settings(Device::cuda, 4)); }
  static void TearDownTestSuite() { judge_.reset(); }
  static std::unique_ptr<JudgeClient> judge_;  // one for all: no module may spoil it for the next
};
std::unique_ptr<JudgeClient> BadCudaModule::judge_;

TEST_P(BadCudaModule, GetsItsVerdictAndTheNextKernelIsUnharmed) {
  try {
    bad::expect_verdict(*judge_, "cuda/", GetParam());
  } catch (const Error& e) {  // 80 GB are too few for one of them
    const bool is_full = std::string(e.what()).find("cudaErrorMemoryAllocation") != std::string::npos;
    if (!is_full || GetParam().case_id != bad::kBeyond32Bits) throw;
    GTEST_SKIP() << "the device has too little memory for " << GetParam().case_id << ": " << e.what();
  }
}

INSTANTIATE_TEST_SUITE_P(All, BadCudaModule, ::testing::ValuesIn(bad::kCudaRows), [](const auto& info) {
  return std::string(info.param.module) + "_" + std::to_string(info.index);
});

TEST(CudaJudge, WhatIsRightOnlyWhereItIsJudgedHasNoLatency) {
  const JudgeSettings settings = bad::settings(Device::cuda, 4);
  for (const bad::Row& row : {bad::Row{"good", Verdict::pass, ""},
                              bad::Row{"timed_idle", Verdict::wrong, "accuracy: when it is timed (first_call): y[0]"},
                              bad::Row{"timed_once", Verdict::wrong, "accuracy: when it is timed (warm): y[0]"}}) {
    SCOPED_TRACE(row.module);
    bad::expect_verdict_when_timed(settings, "cuda/", row);
  }
}

// What breaks the rules of launch in several ways shows in each.
TEST(CudaJudge, WaitingAllocatingAndStrayingLaunchesAreNotAsynchronous) {
  JudgeClient judge(bad::settings(Device::cuda, 4));
  for (const auto& [module, detail] : {std::pair{"synchronise", "it waits"},
                                       {"allocate_in_launch", "it waits"},
                                       {"allocate_async", "memory of the device"},
                                       {"default_stream", "y changed while the stream was held back"}}) {
    const Record record = bad::check(judge, std::string("cuda/") + module, bad::kNormal);
    const auto found = std::find_if(record.checks.begin(), record.checks.end(),
                                    [](const CheckResult& result) { return result.check == "asynchronous"; });
    ASSERT_NE(found, record.checks.end());
    EXPECT_EQ(found->outcome, Outcome::fail) << module << "\n" << bad::details(record);
    EXPECT_NE(found->detail.find(detail), std::string::npos) << module << "\n" << bad::details(record);
  }
}

// Too large for its buffers, or for them and what the judge keeps beside them.
TEST(CudaJudge, ACaseThatDoesNotFitCostsItselfAlone) {
  const OpRegistry ops = make_op_registry();
  JudgeClient judge(bad::settings(Device::cuda, 30));
  const KernelInfo kernel = judge.load(bad::module_named("cuda/good")).at(0);
  for (const char* n : {"68719476736", "17179869184"}) {
    const Case c = ops.parse_case("reduce:kind=max,outer=" + std::string(n) + ",n=1,dtype=f32");
    try {
      judge.check(kernel, c);
      ADD_FAILURE() << c.id() << " was judged";
    } catch (const Error& e) {
      EXPECT_NE(std::string(e.what()).find(" bytes"), std::string::npos) << e.what();
    }
    const Record next = bad::concluded(judge.check(kernel, ops.parse_case(bad::kLarge)));
    EXPECT_EQ(next.verdict, Verdict::pass) << bad::details(next);
  }
}

// Other processes take the device's memory when they like.
TEST(CudaJudge, WhatItsWorkerHasNoMemoryForIsNoFailureOfTheKernel) {
  const OpRegistry ops = make_op_registry();
  JudgeClient judge(bad::settings(Device::cuda, 30));
  const KernelInfo kernel = judge.load(bad::module_named("cuda/good")).at(0);
  const Case c = ops.parse_case(bad::kNormal);
  const TimePlan plan{.cold_samples = 5};
  ASSERT_EQ(judge.time(kernel, c, plan).failed, "");
  std::vector<void*> taken;
  for (size_t bytes = size_t{1} << 36; bytes >= size_t{8} << 20;) {  // a flush of the L2 takes more
    void* memory = nullptr;
    if (cudaMalloc(&memory, bytes) == cudaSuccess) {
      taken.push_back(memory);
    } else {
      bytes /= 2;
    }
  }
  try {
    ADD_FAILURE() << "it was timed: " << judge.time(kernel, c, plan).failed;
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("cudaErrorMemoryAllocation"), std::string::npos) << e.what();
  }
  for (void* memory : taken) (void)cudaFree(memory);
  EXPECT_EQ(judge.time(kernel, c, plan).failed, "");
}

// ---- a judge's contents on the GPU and on the host ----

// All of a record but what clocks and processes say.
std::string evidence(Record record) {
  record.seconds.clear();
  record.late_libraries.clear();  // follow from what the process ran before
  record.resident_growth_bytes = 0;
  return to_json(record).dump(1);
}

JudgeSettings settings_from(int64_t elements_on_device) {
  JudgeSettings settings = bad::settings(Device::cuda, 10);
  settings.elements_on_device = elements_on_device;
  return settings;
}

class WhereTheJudgeLooks : public ::testing::Test {
 protected:
  void expect_same(const std::filesystem::path& module, const std::vector<std::string>& cases) {
    const KernelInfo on_gpu = on_gpu_.load(module).at(0), on_host = on_host_.load(module).at(0);
    for (const std::string& id : cases) {
      const Case c = ops_.parse_case(id);
      const Record here = bad::concluded(on_host_.check(on_host, c));
      EXPECT_EQ(evidence(bad::concluded(on_gpu_.check(on_gpu, c))), evidence(here)) << module << " " << id;
      EXPECT_FALSE(here.truth_hash.empty() && here.verdict == Verdict::pass) << bad::details(here);
    }
  }
  OpRegistry ops_ = make_op_registry();
  JudgeClient on_gpu_{settings_from(0)};
  JudgeClient on_host_{settings_from(std::numeric_limits<int64_t>::max())};
};

TEST_F(WhereTheJudgeLooks, MakesNoDifferenceToARecord) {
  for (const char* module : {"good", "last_unwritten", "scribble_input", "write_before_start", "trust_workspace"}) {
    expect_same(
        bad::module_named(std::string("cuda/") + module),
        {bad::kNormal, bad::kZeros, bad::kNaN, bad::kStart, "reduce:kind=max,outer=7,n=33,inner=5,pad=3,dtype=f32",
         "reduce:kind=max,outer=0,n=33,inner=5,dtype=f32", "reduce:kind=max,outer=64,n=33,dtype=f32,seeds=3"});
  }
}

TEST_F(WhereTheJudgeLooks, MakesNoDifferenceToOurKernels) {
  const auto module = [](const char* name) { return bad::kBuild / "modules" / (std::string(name) + ".so"); };
  expect_same(module("gemm_mma"),
              {"gemm:m=33,n=29,k=47,dtype=bf16", "gemm:m=5,n=7,k=0,beta=0.5,dtype=f16",
               "gemm:batch=3,m=15,n=17,k=33,tb=t,beta=0.5,pad_a=3,pad_b=1,pad_c=5,dtype=bf16",
               "gemm:m=33,n=29,k=47,dtype=f16,fill=nan_one", "gemm:m=64,n=64,k=64,dtype=bf16,seeds=8"});
  expect_same(module("gemm_int8_mma"), {"gemm_int8:m=31,n=33,k=129,scales=channel,za=5,zb=-3,zy=7,fill=int8_full"});
  expect_same(module("softmax_simt"), {"softmax:rows=7,cols=33,dtype=f16", "softmax:rows=5,cols=127,pad=5,dtype=f32",
                                       "softmax:rows=18,cols=17,scale=0.125,mask=additive,dtype=f32,fill=causal"});
  expect_same(module("layernorm_residual_simt"), {"layernorm_residual:rows=16,cols=197,dtype=bf16,seeds=8"});
  expect_same(module("bias_gelu_simt"), {"bias_gelu:rows=5,cols=127,pad=5,form=erf,dtype=f32"});
  expect_same(module("reduce_simt"), {"reduce:kind=sum,outer=9,n=63,inner=17,pad=1,dtype=bf16",
                                      "reduce:kind=max,outer=8,n=4096,inner=8,dtype=bf16,fill=uniform"});  // mistrusted
}

// Every element of an 8192 x 8192 product, and where the time went.
TEST(CudaJudge, ALargeProductIsVerifiedInSeconds) {
  const OpRegistry ops = make_op_registry();
  JudgeClient judge(bad::settings(Device::cuda, 10));
  const KernelInfo kernel = judge.load(bad::kBuild / "modules" / "gemm_mma.so").at(0);
  const Record record = bad::concluded(judge.check(kernel, ops.parse_case("gemm:m=8192,n=8192,k=8192,dtype=bf16")));
  EXPECT_EQ(record.verdict, Verdict::pass) << bad::details(record);
  ASSERT_EQ(record.errors.size(), 1u);
  EXPECT_EQ(record.errors[0].elements, 8192 * 8192);
  EXPECT_EQ(record.errors[0].rigorous + record.errors[0].weak, 8192 * 8192);
  EXPECT_LT(record.seconds.at("oracle"), 2);
  for (const auto& [phase, seconds] : record.seconds) std::printf("  %s %.3f s\n", phase.c_str(), seconds);
}

std::string accuracy_of(const Record& record) {
  const auto found =
      std::find_if(record.checks.begin(), record.checks.end(), [](const auto& r) { return r.check == "accuracy"; });
  return found == record.checks.end() ? "" : found->detail;
}

// Products of integers, by Freivalds: on the host and on the GPU, in a full examination and in a light look.
TEST(CudaJudge, FreivaldsSaysTheSameOnTheGpuAndOnTheHost) {
  const OpRegistry ops = make_op_registry();
  const auto settings = [](int64_t elements_on_device) {
    JudgeSettings all = settings_from(elements_on_device);
    all.products_verified = 0;
    return all;
  };
  JudgeClient on_gpu(settings(0)), on_host(settings(std::numeric_limits<int64_t>::max()));
  const std::filesystem::path module = bad::kBuild / "modules" / "gemm_mma.so";
  const KernelInfo kernel = on_gpu.load(module).at(0), there = on_host.load(module).at(0);
  std::vector<Case> cases;
  for (const char* fields :
       {"m=33,n=29,k=47,dtype=bf16", "m=300,n=517,k=1000,ta=t,dtype=f16", "m=5,n=7,k=0,beta=1,dtype=f16",
        "batch=3,m=15,n=17,k=33,tb=t,alpha=3,beta=-2,pad_a=3,pad_b=1,pad_c=5,dtype=bf16"}) {
    cases.push_back(ops.parse_case("gemm:" + std::string(fields) + ",fill=sparse"));
    const Record record = bad::concluded(on_gpu.check(kernel, cases.back()));
    EXPECT_EQ(record.verdict, Verdict::pass) << bad::details(record);
    EXPECT_NE(accuracy_of(record).find("Freivalds"), std::string::npos) << accuracy_of(record);
    EXPECT_EQ(evidence(record), evidence(bad::concluded(on_host.check(there, cases.back())))) << fields;
  }
  cases.push_back(ops.parse_case("gemm:m=33,n=29,k=47,dtype=bf16"));  // no integers
  for (JudgeClient* judge : {&on_gpu, &on_host}) {
    const std::vector<Screened> screened =
        judge->screen(judge == &on_gpu ? kernel : there, cases, Verification::freivalds);
    ASSERT_EQ(screened.size(), cases.size());
    for (size_t i = 0; i < cases.size(); ++i) {
      EXPECT_EQ(screened[i].verdict, Verdict::pass) << screened[i].reason;
      EXPECT_EQ(screened[i].refused, "");
      EXPECT_EQ(screened[i].unverified.empty(), i + 1 < cases.size()) << screened[i].unverified;
    }
  }
}

TEST(CudaJudge, AVeryLargeProductOfIntegersIsVerifiedInLessThanASecond) {
  const OpRegistry ops = make_op_registry();
  JudgeClient judge(bad::settings(Device::cuda, 20));
  const KernelInfo kernel = judge.load(bad::kBuild / "modules" / "gemm_mma.so").at(0);
  const Record record =
      bad::concluded(judge.check(kernel, ops.parse_case("gemm:m=16384,n=16384,k=16384,dtype=bf16,fill=sparse")));
  EXPECT_EQ(record.verdict, Verdict::pass) << bad::details(record);
  EXPECT_NE(accuracy_of(record).find("T0 268435456"), std::string::npos) << accuracy_of(record);
  EXPECT_NE(accuracy_of(record).find("Freivalds"), std::string::npos) << accuracy_of(record);
  EXPECT_LT(record.seconds.at("oracle"), 1);
  for (const auto& [phase, seconds] : record.seconds) std::printf("  %s %.3f s\n", phase.c_str(), seconds);
}

}  // namespace
}  // namespace assay
