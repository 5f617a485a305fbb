// Our SIMD kernels on every instruction set this machine has. The harness runs the best one alone; here each is forced,
// the kernel must name it, and the op's smoke cases must come out within the op's bounds, from buffers that end at an
// unmapped page and outputs and workspace that hold poison. To cover another op: one line in kOps.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <tuple>
#include <vector>

#include "core/error.h"
#include "device/layout.h"
#include "device/memory_host.h"
#include "device/worker_device_host.h"
#include "hwy/highway.h"
#include "load/module.h"
#include "oracle_run.h"
#include "worker/wire.h"

namespace assay::testing {
namespace {

constexpr const char* kOps[] = {"gemm", "gemm_int8", "softmax", "layernorm_residual", "reduce", "bias_gelu"};
constexpr int kThreads = 2;
constexpr std::byte kPoison{0xff};

const assay_kernel& simd_kernel(const std::string& op) {
  const Module module(std::string(ASSAY_BUILD_DIR "/modules/") + op + "_simd.so");
  const assay_kernel* kernel = module.find(op, "simd");
  if (kernel == nullptr) throw Error("no kernel " + op + "/simd");
  return *kernel;
}

// What one instruction set makes of one case.
class Attempt {
 public:
  Attempt(const assay_kernel& kernel, const Case& c, const Inputs& inputs) : kernel_(kernel), inputs_(inputs) {
    const char* error = nullptr;
    state_ = kernel.create({1, 0}, &error);
    const int64_t offset = c.integer("offset");
    const Layout planned = lay_out(inputs.specs, kernel.contract.alignment, offset, Place::end, {});
    const WireCall call(call_to_json(c, inputs.specs, planned, kThreads), {1, 0});
    if (const char* refusal = kernel.prepare(state_, &call.get(), &plan_)) throw Error(c.id() + ": " + refusal);
    const assay_workspace w = kernel.workspace(plan_);
    layout_ = lay_out(inputs.specs, kernel.contract.alignment, offset, Place::end,
                      {w.bytes, std::max<uint64_t>(1, w.alignment), w.init != 0});
    memory_.place(layout_.regions);
    for (const Region& region : layout_.regions) std::fill_n(memory_.at(region), region.length, kPoison);
    for (size_t i = 0; i < inputs.specs.size(); ++i) {
      if (!inputs.storage[i].empty()) std::memcpy(tensor(i), inputs.storage[i].data(), inputs.storage[i].size());
    }
    for (Block block : memory_.blocks()) {
      block.file = ::dup(block.file);
      worker_.take(block);
    }
    pointers_ = worker_.map(layout_.regions);
  }
  ~Attempt() {
    if (plan_ != nullptr) kernel_.release(state_, plan_);
    kernel_.destroy(state_);
  }

  void launch() {
    if (const char* error = kernel_.launch(plan_, nullptr, pointers_.data())) throw Error(error);
  }

  std::string isa() const {
    std::string isa;
    const auto keep = [](void* to, const char* key, const char* value) {
      if (std::string(key) == "isa") *static_cast<std::string*>(to) = value;
    };
    kernel_.describe(plan_, keep, &isa);
    return isa;
  }

  Contract contract() const {
    const assay_contract* own = kernel_.plan_contract == nullptr ? nullptr : kernel_.plan_contract(plan_);
    return contract_from(own == nullptr ? kernel_.contract : *own);
  }

  std::vector<ErrorSummary> judge(const Op& op, const Case& c, const std::vector<Reference>& references) {
    std::vector<ErrorSummary> summaries;
    for (size_t i = 0; i < inputs_.specs.size(); ++i) {
      if (inputs_.specs[i].role == Role::input) continue;
      const Reference& reference = references[summaries.size()];
      const Bounds bounds = op.bounds(c, contract(), reference);
      summaries.push_back(judge_accuracy(inputs_.specs[i], tensor(i), reference, bounds, contract()));
    }
    return summaries;
  }

 private:
  std::byte* tensor(size_t i) { return memory_.at(layout_.regions[i]) + layout_.regions[i].first; }

  const assay_kernel& kernel_;
  const Inputs& inputs_;
  void* state_ = nullptr;
  void* plan_ = nullptr;
  Layout layout_;
  HostMemory memory_;
  HostWorkerDevice worker_;
  std::vector<void*> pointers_;
};

// Restores the machine's own choice.
struct ForcedTarget {
  explicit ForcedTarget(int64_t target) {
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(target);
  }
  ~ForcedTarget() {
    hwy::SetSupportedTargetsForTest(0);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  }
};

// As in kernels/common/targets.h.
#ifdef ASSAY_SANITIZED
constexpr std::array<int64_t, 2> kTargets{HWY_AVX2, HWY_SCALAR};
#else
constexpr std::array<int64_t, 3> kTargets{HWY_AVX3, HWY_AVX2, HWY_SSE4};
#endif

class SimdIsa : public ::testing::TestWithParam<std::tuple<const char*, int64_t>> {};

TEST_P(SimdIsa, IsWithinTheBounds) {
  const auto [name, target] = GetParam();
  if ((hwy::SupportedTargets() & target) == 0 && target != HWY_SCALAR) {
    GTEST_SKIP() << "this processor has no " << hwy::TargetName(target);
  }
  const Op& op = registry().named(name);
  const assay_kernel& kernel = simd_kernel(name);
  int64_t launches = 0, elements = 0;
  for (const Case& c : op.cases(Tier::smoke)) {
    if (!unclaimed(contract_from(kernel.contract), c).empty()) continue;
    const Inputs inputs(op, c);
    const std::vector<Reference> references = op.oracle(c, inputs.views, kThreads);
    const ForcedTarget forced(target);
    Attempt attempt(kernel, c, inputs);
    ASSERT_EQ(attempt.isa().substr(0, attempt.isa().find(' ')), hwy::TargetName(target)) << c.id();
    attempt.launch();
    const std::vector<ErrorSummary> summaries = attempt.judge(op, c, references);
    EXPECT_EQ(failures(summaries), 0) << c.id() << " on " << attempt.isa() << ": " << first_failure(summaries);
    ++launches;
    for (const ErrorSummary& s : summaries) elements += s.elements;
  }
  EXPECT_GT(launches, 13);
  EXPECT_GT(elements, 1666);
}

INSTANTIATE_TEST_SUITE_P(Ops, SimdIsa, ::testing::Combine(::testing::ValuesIn(kOps), ::testing::ValuesIn(kTargets)),
                         [](const auto& info) {
                           return std::string(std::get<0>(info.param)) + "_" + hwy::TargetName(std::get<1>(info.param));
                         });

}  // namespace
}  // namespace assay::testing
