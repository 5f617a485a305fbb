// What an op says must change its output (Op::sensitivities) does change it, in cases drawn from its whole domain: a
// right kernel would else be called wrong. Asked of the oracles, since no kernel is righter.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iostream>

#include "gate/case_draw.h"
#include "golden/filled_case.h"

namespace assay {
namespace {

// Every output rounded to its type.
std::vector<double> rounded(const Op& op, const Case& c, const std::vector<TensorView>& views) {
  std::vector<double> all;
  for (const Reference& reference : op.oracle(c, views, 1)) {
    for (const double value : reference.hi) all.push_back(round_to(reference.dtype, value));
  }
  return all;
}

bool differ(const std::vector<double>& a, const std::vector<double>& b) {
  for (size_t i = 0; i < a.size(); ++i) {
    if (!(a[i] == b[i]) && !(std::isnan(a[i]) && std::isnan(b[i]))) return true;
  }
  return false;
}

std::vector<double> perturbed(const Op& op, const Case& c, const Sensitivity& by, const FilledCase& filled,
                              const FilledCase& other) {
  if (by.changed) {
    const FilledCase changed(op, *by.changed, static_cast<uint64_t>(c.integer("seed")), 1);
    return rounded(op, *by.changed, changed.views());
  }
  std::vector<TensorView> views = filled.views();
  const std::vector<TensorView> others = other.views();
  for (size_t i = 0; i < views.size(); ++i) {
    if (views[i].spec->name == by.tensor) views[i] = others[i];
  }
  return rounded(op, c, views);
}

const OpRegistry& registry() {
  static const OpRegistry kRegistry = make_op_registry();
  return kRegistry;
}

std::vector<std::string> names_of_ops() {
  std::vector<std::string> names;
  for (const auto& op : registry().all()) names.emplace_back(op->name());
  return names;
}

class Sensitivities : public ::testing::TestWithParam<std::string> {};  // name of an op

TEST_P(Sensitivities, ChangeTheTruth) {
  const char* given = std::getenv("ASSAY_TEST_SEED");
  const uint64_t seed = given == nullptr ? 20262 : std::strtoull(given, nullptr, 10);
  std::cout << "seed " << seed << " (another: ASSAY_TEST_SEED=N)\n";
  constexpr uint64_t kAnotherSeed = 0x5eed;
  const Op& op = registry().named(GetParam());
  const CaseDraw draws(op, op.cases(Tier::nightly), {.work = 1 << 9, .bytes = 1 << 14});
  Draw draw(seed);
  int asked = 0, failed = 0;
  for (int i = 0; i < 6000; ++i) {
    const Case c = draws.fresh(draw).value();
    const std::vector<Sensitivity> all = op.sensitivities(c);
    if (all.empty()) continue;
    const auto first = static_cast<uint64_t>(c.integer("seed"));
    const FilledCase filled(op, c, first, 1), other(op, c, first + kAnotherSeed, 1);
    const std::vector<double> truth = rounded(op, c, filled.views());
    for (const Sensitivity& by : all) {
      ++asked;
      if (differ(truth, perturbed(op, c, by, filled, other))) continue;
      ++failed;
      EXPECT_LE(failed, 0) << c.id() << ": " << by.what;
    }
  }
  std::cout << asked << " asked, " << failed << " change nothing\n";
  EXPECT_GT(asked, 500);
}

// What is drawn has scalars near those that are listed; a person may give any.
TEST(SensitivitiesOfOneCase, NothingIsAskedThatMayNotShow) {
  const auto asked = [](const char* id) {
    const Case c = registry().parse_case(id);
    return registry().named(c.op()).sensitivities(c).size();
  };
  EXPECT_EQ(asked("gemm:m=8,n=8,k=8,beta=9.5367431640625e-07,dtype=bf16"), 0u);
  EXPECT_EQ(asked("gemm:m=8,n=8,k=8,alpha=9.094947017729282e-13,dtype=f16"), 0u);
  EXPECT_EQ(asked("gemm:m=8,n=8,k=8,alpha=1048576,beta=1,dtype=f32"), 0u);
  EXPECT_EQ(asked("gemm:m=8,n=8,k=8,alpha=-0.5,beta=2,dtype=f32"), 5u);
  EXPECT_EQ(asked("blas_axpy:n=100,alpha=1e-30,dtype=f64"), 0u);
  EXPECT_EQ(asked("blas_gemm:m=8,n=8,k=8,alpha=1048576,beta=1,dtype=f32"), 0u);
  EXPECT_EQ(asked("blas_gemm:m=8,n=8,k=8,alpha=2,beta=1,dtype=f32"), 5u);
  EXPECT_EQ(asked("softmax:rows=5,cols=64,scale=0.0001,dtype=bf16"), 0u);
  EXPECT_EQ(asked("softmax:rows=5,cols=64,scale=0.125,dtype=bf16"), 2u);
  EXPECT_EQ(asked("layernorm_residual:rows=5,cols=64,eps=1e+08,dtype=f32"), 0u);
}

TEST(SensitivitiesOfOneCase, AnEpsilonAboveOneIsHalved) {
  const Case c = registry().parse_case("layernorm_residual:rows=5,cols=64,eps=32,dtype=f32");
  const std::vector<Sensitivity> all = registry().named(c.op()).sensitivities(c);
  const auto eps = std::find_if(all.begin(), all.end(), [](const Sensitivity& by) { return by.what == "eps"; });
  ASSERT_NE(eps, all.end());
  EXPECT_EQ(eps->changed->real("eps"), 16);
}

INSTANTIATE_TEST_SUITE_P(Ops, Sensitivities, ::testing::ValuesIn(names_of_ops()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace assay
