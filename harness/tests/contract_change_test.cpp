// What makes a contract weaker than another of the same kernel, field by field.
#include "core/contract_change.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

namespace assay {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Contract contract() {
  return {.interface_version = 1,
          .owner = "someone",
          .domain = "dtype in f32 bf16; cols <= 1024 | dtype in f64; pad == 0",
          .promises = ASSAY_SAME_RUN | ASSAY_SAME_RESTART,
          .arithmetic = {.accumulator = ASSAY_ACC_F32,
                         .depth_divisor = 32,
                         .depth_constant = 4,
                         .split_k = 2,
                         .partial_type = ASSAY_ACC_F32,
                         .exp_kind = ASSAY_EXP_ACCURATE},
          .workspace_limit = 4096};
}

Contract on_a_matrix_unit() {
  Contract c = contract();
  c.arithmetic.accumulator = ASSAY_ACC_TENSOR;
  c.arithmetic.tensor_terms = 16;
  c.arithmetic.tensor_fraction = 25;
  c.arithmetic.tensor_precision = 23;
  c.arithmetic.tensor_promotion = 128;
  return c;
}

using Edit = std::function<void(Contract&)>;

std::vector<std::string> told(const Edit& edit, Contract before = contract()) {
  Contract now = before;
  edit(now);
  return weakened(before, now);
}

TEST(ContractChange, TheSameIsNotWeaker) {
  EXPECT_THAT(weakened(contract(), contract()), IsEmpty());
  EXPECT_THAT(weakened(on_a_matrix_unit(), on_a_matrix_unit()), IsEmpty());
  EXPECT_THAT(weakened({}, {}), IsEmpty());
}

TEST(ContractChange, WhatIsWeakerIsToldWithItsFieldAndBothValues) {
  const std::pair<Edit, const char*> kWeaker[] = {
      {[](Contract& c) { c.promises = ASSAY_SAME_RUN | ASSAY_SAME_THREADS; },
       "promises: was same-run, same-restart, now same-run, same-threads"},
      {[](Contract& c) { c.promises = 0; }, "promises: was same-run, same-restart, now nothing"},
      {[](Contract& c) { c.nan_policy = ASSAY_NAN_UNSPECIFIED; }, "nan_policy: was propagates, now unspecified"},
      {[](Contract& c) { c.workspace_limit = 4097; }, "workspace_limit: was 4096, now 4097"},
      {[](Contract& c) { c.alignment = 64; }, "alignment: was 1, now 64"},
      {[](Contract& c) { c.may_fall_back = true; }, "may_fall_back: was no, now yes"},
      {[](Contract& c) { c.may_allocate = true; }, "may_allocate: was no, now yes"},
      {[](Contract& c) { c.arithmetic.accumulator = ASSAY_ACC_F16; }, "accumulator: was f32, now f16"},
      {[](Contract& c) { c.arithmetic.accumulator = ASSAY_ACC_TENSOR; }, "accumulator: was f32, now tensor"},
      {[](Contract& c) { c.arithmetic.depth_divisor = 16; }, "depth: was n/32 + 4, now n/16 + 4"},
      {[](Contract& c) { c.arithmetic.depth_constant = 5; }, "depth: was n/32 + 4, now n/32 + 5"},
      {[](Contract& c) { c.arithmetic.depth_divisor = 0; }, "depth: was n/32 + 4, now unknown"},
      {[](Contract& c) { c.arithmetic.split_k = 4; }, "split_k: was 2, now 4"},
      {[](Contract& c) { c.arithmetic.partial_type = ASSAY_ACC_BF16; }, "partial_type: was f32, now bf16"},
      {[](Contract& c) { c.arithmetic.exp_kind = ASSAY_EXP_FAST; }, "exp_kind: was 1, now 2"},
      {[](Contract& c) { c.arithmetic.rescales_online = 1; }, "rescales_online: was 0, now 1"},
      {[](Contract& c) { c.arithmetic.flushes_subnormals = 1; }, "flushes_subnormals: was 0, now 1"},
      {[](Contract& c) { c.arithmetic.intermediate = ASSAY_ACC_F16; }, "intermediate: was f32, now f16"},
  };
  for (const auto& [edit, line] : kWeaker) EXPECT_THAT(told(edit), ElementsAre(line));
  const std::pair<Edit, const char*> kWeakerUnit[] = {
      {[](Contract& c) { c.arithmetic.tensor_terms = 32; }, "tensor_terms: was 16, now 32"},
      {[](Contract& c) { c.arithmetic.tensor_fraction = 13; }, "tensor_fraction: was 25, now 13"},
      {[](Contract& c) { c.arithmetic.tensor_precision = 13; }, "tensor_precision: was 23, now 13"},
      {[](Contract& c) { c.arithmetic.tensor_promotion = 256; }, "tensor_promotion: was 128, now 256"},
      {[](Contract& c) { c.arithmetic.tensor_promotion = 0; }, "tensor_promotion: was 128, now 0"},
  };
  for (const auto& [edit, line] : kWeakerUnit) EXPECT_THAT(told(edit, on_a_matrix_unit()), ElementsAre(line));
}

TEST(ContractChange, WhatIsStrongerIsNotTold) {
  EXPECT_THAT(told([](Contract& c) {
                c.promises |= ASSAY_SAME_THREADS;
                c.workspace_limit = 0;
                c.alignment = 1;
                c.arithmetic.accumulator = ASSAY_ACC_F64;
                c.arithmetic.depth_divisor = 64;
                c.arithmetic.depth_constant = 0;
                c.arithmetic.split_k = 1;
                c.owner = "another";
              }),
              IsEmpty());
  Contract unknown = contract();
  unknown.arithmetic.depth_divisor = 0;
  EXPECT_THAT(weakened(unknown, contract()), IsEmpty());
  Contract fast = contract();
  fast.arithmetic.exp_kind = ASSAY_EXP_FAST;
  EXPECT_THAT(weakened(fast, contract()), IsEmpty());
}

// Both ways: what the one claims beyond the other.
TEST(ContractChange, ADomainThatMayClaimLessIsWeaker) {
  const std::pair<const char*, const char*> kNarrower[] = {
      // of each the second claims less
      {"", "dtype in f32"},
      {"dtype in f32 |", "dtype in f32"},
      {"dtype in f32 bf16", "dtype in f32"},
      {"cols <= 1024", "cols <= 1023"},
      {"cols < 1024", "cols < 1e3"},
      {"cols >= 1", "cols >= 2"},
      {"cols > 1", "cols > 2"},
      {"dtype in f32", "dtype in f32; cols <= 8"},
      {"dtype in f32 | dtype in f64", "dtype in f32"},
      {"dtype in f32; cols <= 8 | dtype in f64", "dtype in f32; cols <= 8 | dtype in f64; cols <= 8"},
  };
  const auto is_weaker = [](const char* was, const char* is) {
    Contract before = contract(), now = contract();
    before.domain = was;
    now.domain = is;
    return !weakened(before, now).empty();
  };
  for (const auto& [wide, narrow] : kNarrower) {
    EXPECT_TRUE(is_weaker(wide, narrow)) << wide << " -> " << narrow;
    EXPECT_FALSE(is_weaker(narrow, wide)) << narrow << " -> " << wide;
  }
  const std::pair<const char*, const char*> kOther[] = {{"cols <= 8", "rows <= 8"},
                                                        {"cols <= 8", "cols <= nan"},
                                                        {"cols <= 8", "cols >= 8"},
                                                        {"cols == 8", "cols == 9"},
                                                        {"fill not in special", "fill not in special every"},
                                                        {"k multiple of 8", "k multiple of 16"}};
  for (const auto& [one, another] : kOther) EXPECT_TRUE(is_weaker(one, another)) << one << " -> " << another;
  EXPECT_FALSE(is_weaker("dtype in f32 bf16; cols <= 8", "cols  <= 8;dtype in bf16 f32;")) << "said otherwise";
  EXPECT_THAT(
      told([](Contract& c) { c.domain = "dtype in f32"; }),
      ElementsAre("domain: was 'dtype in f32 bf16; cols <= 1024 | dtype in f64; pad == 0', now 'dtype in f32'"));
}

}  // namespace
}  // namespace assay
