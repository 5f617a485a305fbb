// The dispatcher over candidates that do as told: one refuses odd n, one is not available, one lies about its domain.
#include "dispatch/dispatcher.h"

#include <assay/kernel.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace {

using assay::Call;
using assay::dispatch::Candidates;
using testing::HasSubstr;

// Each launch writes its kernel's number to y.
template <int number>
const char* answer(const Call& c) {
  c.out<int32_t>("y").data()[0] = number;
  return nullptr;
}

const char* fail(const Call&) { return "the device is on fire"; }
const char* refuse_odd(const Call& c) { return c.axis("n") % 2 == 1 ? "n is odd" : nullptr; }
const char* lacks_isa() { return "needs AMX"; }
void describe_plain(const Call&, const assay::Describe& emit) { emit("algorithm", "plain"); }
assay_workspace workspace_of_64(const Call&) { return {64, 32, ASSAY_WORKSPACE_ZERO}; }

struct PlanCount {
  static int& live() {
    static int count = 0;
    return count;
  }
  static int& made() {
    static int count = 0;
    return count;
  }
  PlanCount() {
    ++live();
    ++made();
  }
  ~PlanCount() { --live(); }
};
std::shared_ptr<void> counted_plan(const Call&) { return std::make_shared<PlanCount>(); }

const assay_contract* f64_contract(const Call& c) {
  static constexpr assay_contract kContract = {.interface_version = 7,
                                               .owner = "plain@example",
                                               .promises = ASSAY_SAME_RUN,
                                               .arithmetic = {.accumulator = ASSAY_ACC_F64}};
  return c.word("dtype") == "f64" ? &kContract : nullptr;
}

// Wants an instruction set that is not there.
ASSAY_KERNEL(toy, amx, .launch = answer<1>, .unavailable = lacks_isa,
             .contract = {.interface_version = 1,
                          .owner = "amx@example",
                          .domain = "dtype in bf16",
                          .promises = ASSAY_SAME_RUN | ASSAY_SAME_THREADS,
                          .arithmetic = {.accumulator = ASSAY_ACC_F32, .depth_divisor = 64, .depth_constant = 2},
                          .workspace_limit = 10})
// Claims n <= 8 but refuses odd n.
ASSAY_KERNEL(toy, small, .refuse = refuse_odd, .plan = counted_plan, .launch = answer<2>,
             .contract = {.interface_version = 1,
                          .owner = "small@example",
                          .domain = "n <= 8",
                          .promises = ASSAY_SAME_RUN | ASSAY_SAME_THREADS | ASSAY_SAME_PADDING,
                          .arithmetic = {.accumulator = ASSAY_ACC_F32, .depth_divisor = 32, .depth_constant = 5},
                          .workspace_limit = 100})
ASSAY_KERNEL(toy, plain, .plan = counted_plan, .workspace = workspace_of_64, .launch = answer<3>,
             .describe = describe_plain, .plan_contract = f64_contract,
             .contract = {.interface_version = 1,
                          .owner = "plain@example",
                          .domain = "dtype in f32 f64 bf16; n < 100",
                          .promises = ASSAY_SAME_RUN | ASSAY_SAME_THREADS,
                          .arithmetic = {.accumulator = ASSAY_ACC_F32, .depth_divisor = 32, .exp_kind = ASSAY_EXP_FAST},
                          .may_allocate = 1})
ASSAY_KERNEL(toy, broken, .launch = fail,
             .contract = {.interface_version = 1, .owner = "broken@example", .domain = "n == 1000"})

struct Table {
  static constexpr const char* kOp = "toy";
  static constexpr const char* kName = "dispatch";
  static constexpr const char* kTarget = "cpu";
  static Candidates candidates() {
    return {assay_kernel_toy_amx(), assay_kernel_toy_small(), assay_kernel_toy_plain(), assay_kernel_toy_broken()};
  }
};

class Dispatcher : public testing::Test {
 protected:
  Dispatcher() : kernel_(*assay::dispatch::kernel<Table>()) {
    const char* error = nullptr;
    state_ = kernel_.create({1, 0}, &error);
    EXPECT_NE(state_, nullptr) << error;
  }
  ~Dispatcher() override {
    if (plan_ != nullptr) kernel_.release(state_, plan_);
    kernel_.destroy(state_);
    EXPECT_EQ(PlanCount::live(), 0) << "a candidate's plan was not released";
  }

  // The refusal, or empty.
  std::string prepare(int64_t n, const std::string& dtype) {
    const std::string text = std::to_string(n);
    const assay_field fields[] = {{"n", n, static_cast<double>(n), text.c_str()}, {"dtype", 0, NAN, dtype.c_str()}};
    int64_t one = 1;
    const assay_tensor y = {"y", {nullptr, {1, 0}, 1, {0, 32, 1}, &one, &one, 0}, 4, 4, ASSAY_OUTPUT};
    assay_call call{};
    call.size = sizeof call;
    call.op = "toy";
    call.fields = fields;
    call.field_count = 2;
    call.tensors = &y;
    call.tensor_count = 1;
    call.threads = 1;
    call.world_size = 1;
    const char* refusal = kernel_.prepare(state_, &call, &plan_);
    return refusal == nullptr ? "" : refusal;
  }
  std::multimap<std::string, std::string> description() const {
    std::multimap<std::string, std::string> described;
    kernel_.describe(
        plan_,
        [](void* sink, const char* key, const char* value) {
          static_cast<std::multimap<std::string, std::string>*>(sink)->emplace(key, value);
        },
        &described);
    return described;
  }
  std::string described(const std::string& key) const {
    const auto all = description();
    return all.count(key) == 1 ? all.find(key)->second : std::to_string(all.count(key)) + " times";
  }
  int32_t launch() const {
    int32_t y = 0;
    alignas(32) char workspace[64] = {};
    void* pointers[] = {&y, workspace};
    EXPECT_STREQ(kernel_.launch(plan_, nullptr, pointers), nullptr);
    return y;
  }

  const assay_kernel& kernel_;
  void* state_ = nullptr;
  void* plan_ = nullptr;
};

TEST_F(Dispatcher, ChoosesTheFirstThatAccepts) {
  ASSERT_EQ(prepare(4, "f32"), "");
  EXPECT_EQ(described("chosen"), "small");
  EXPECT_EQ(launch(), 2);
  EXPECT_EQ(PlanCount::live(), 1) << "only the chosen candidate's plan is kept";
}

TEST_F(Dispatcher, DoesNotPlanForCandidatesThatComeAfterTheChosen) {
  const int before = PlanCount::made();
  ASSERT_EQ(prepare(4, "f32"), "");
  EXPECT_EQ(PlanCount::made(), before + 1);
}

TEST_F(Dispatcher, PassesOverOneWhoseDomainDoesNotClaimTheCallWithoutCallingItAFallback) {
  ASSERT_EQ(prepare(50, "f32"), "");
  EXPECT_EQ(described("chosen"), "plain");
  EXPECT_EQ(described("candidate.plain"), "eligible");
  EXPECT_THAT(described("candidate.small"), HasSubstr("needs n <= 8, got n = 50"));
  EXPECT_EQ(described("candidate.amx"), "needs AMX");
  EXPECT_EQ(described("fallback"), "0 times");
  EXPECT_EQ(launch(), 3);
}

TEST_F(Dispatcher, ReportsAFallbackWhenACandidateRefusesWhatItClaims) {
  ASSERT_EQ(prepare(7, "f32"), "");
  EXPECT_EQ(described("chosen"), "plain");
  EXPECT_EQ(described("fallback"), "small");
  EXPECT_EQ(described("fallback_reason"), "n is odd");
}

TEST_F(Dispatcher, ReportsTheMostPreferredFallbackWhenAnInstructionSetIsMissing) {
  ASSERT_EQ(prepare(7, "bf16"), "");
  EXPECT_EQ(described("fallback"), "amx");
  EXPECT_EQ(described("fallback_reason"), "needs AMX");
}

TEST_F(Dispatcher, SaysThatALessPreferredCandidateIsEligibleByItsContractAlone) {
  ASSERT_EQ(prepare(4, "f32"), "");
  EXPECT_EQ(described("candidate.small"), "eligible");
  EXPECT_EQ(described("candidate.plain"), "eligible by its contract, not asked");
  EXPECT_THAT(described("candidate.broken"), HasSubstr("n == 1000"));
}

TEST_F(Dispatcher, RefusesWithEveryReasonWhenNoneIsEligible) {
  const std::string refusal = prepare(101, "bf16");
  EXPECT_THAT(refusal, HasSubstr("amx: needs AMX"));
  EXPECT_THAT(refusal, HasSubstr("small: needs n <= 8"));
  EXPECT_THAT(refusal, HasSubstr("plain: needs n < 100"));
  EXPECT_THAT(refusal, HasSubstr("broken: needs n == 1000"));
  EXPECT_EQ(plan_, nullptr);
}

TEST_F(Dispatcher, ForwardsWorkspaceDescriptionAndErrors) {
  ASSERT_EQ(prepare(50, "f32"), "");
  const assay_workspace workspace = kernel_.workspace(plan_);
  EXPECT_EQ(workspace.bytes, 64u);
  EXPECT_EQ(workspace.alignment, 32u);
  EXPECT_EQ(workspace.init, ASSAY_WORKSPACE_ZERO);
  EXPECT_EQ(described("algorithm"), "plain");
  kernel_.release(state_, plan_);
  plan_ = nullptr;
  ASSERT_EQ(prepare(1000, "f32"), "");
  int32_t y = 0;
  void* pointers[] = {&y, nullptr};
  EXPECT_STREQ(kernel_.launch(plan_, nullptr, pointers), "the device is on fire");
}

TEST_F(Dispatcher, AnswersWithTheContractOfTheChosenKernelsPlan) {
  ASSERT_EQ(prepare(50, "f64"), "");
  EXPECT_EQ(kernel_.plan_contract(plan_)->interface_version, 7u);
  EXPECT_EQ(kernel_.plan_contract(plan_)->arithmetic.accumulator, ASSAY_ACC_F64);
  kernel_.release(state_, plan_);
  plan_ = nullptr;
  ASSERT_EQ(prepare(4, "f32"), "");
  EXPECT_STREQ(kernel_.plan_contract(plan_)->owner, "small@example");
  EXPECT_EQ(kernel_.plan_contract(plan_)->arithmetic.depth_constant, 5);
}

TEST_F(Dispatcher, ClaimsTheUnionAndPromisesTheIntersection) {
  const assay_contract& c = kernel_.contract;
  EXPECT_STREQ(c.domain, "dtype in bf16 | n <= 8 | dtype in f32 f64 bf16; n < 100 | n == 1000");
  EXPECT_EQ(c.promises, 0u);  // `broken` promises nothing
  EXPECT_EQ(c.arithmetic.depth_divisor, 0);
  EXPECT_EQ(c.workspace_limit, 100u);
  EXPECT_EQ(c.may_allocate, 1);
  EXPECT_EQ(c.arithmetic.exp_kind, ASSAY_EXP_FAST);

  std::string domain;
  const assay_contract two =
      assay::dispatch::combined_contract({assay_kernel_toy_amx(), assay_kernel_toy_small()}, domain);
  EXPECT_EQ(two.promises, ASSAY_SAME_RUN | ASSAY_SAME_THREADS);
  EXPECT_EQ(two.arithmetic.depth_divisor, 32);
  EXPECT_EQ(two.arithmetic.depth_constant, 5);
}

TEST(DispatcherContract, ACandidateThatClaimsEverythingMakesTheUnionEverything) {
  assay_kernel everything = *assay_kernel_toy_plain();
  everything.contract.domain = "";
  std::string domain;
  EXPECT_STREQ(assay::dispatch::combined_contract({assay_kernel_toy_amx(), &everything}, domain).domain, "");
}

// A matrix unit promises less than f32, and one whose sums are never promoted less than one whose sums are.
TEST(DispatcherContract, TheWeakestMatrixUnitIsDeclared) {
  const auto with = [](const assay_arithmetic& arithmetic) {
    assay_kernel kernel = *assay_kernel_toy_plain();
    kernel.contract.arithmetic = arithmetic;
    return kernel;
  };
  const auto unit = [](int32_t terms, int32_t bits, int32_t promotion) {
    return assay_arithmetic{.accumulator = ASSAY_ACC_TENSOR,
                            .tensor_terms = terms,
                            .tensor_fraction = bits,
                            .tensor_precision = bits,
                            .tensor_promotion = promotion};
  };
  const assay_kernel f32 = with({.accumulator = ASSAY_ACC_F32}), fp8 = with(unit(32, 13, 128)),
                     wide = with(unit(16, 23, 0));
  std::string domain;
  const assay_arithmetic all = assay::dispatch::combined_contract({&f32, &fp8, &wide}, domain).arithmetic;
  EXPECT_EQ(all.accumulator, ASSAY_ACC_TENSOR);
  EXPECT_EQ(all.tensor_terms, 16);
  EXPECT_EQ(all.tensor_fraction, 13);
  EXPECT_EQ(all.tensor_promotion, 0);
  const assay_arithmetic promoted = assay::dispatch::combined_contract({&fp8, &f32}, domain).arithmetic;
  EXPECT_EQ(promoted.accumulator, ASSAY_ACC_TENSOR);
  EXPECT_EQ(promoted.tensor_promotion, 128);
  EXPECT_EQ(assay::dispatch::combined_contract({&f32}, domain).arithmetic.tensor_terms, 0);
}

}  // namespace
