// reference/layernorm_residual: MPFR confirms values and bounds; correct implementations stay inside E_alg, wrong ones
// do not.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>

#include "core/error.h"
#include "mpfr_value.h"
#include "oracle_run.h"
#include "oracle_suite.h"
#include "scratch.h"

namespace assay {
namespace {

using namespace testing;

const Op& op() { return registry().named("layernorm_residual"); }
Case case_of(const std::string& fields) { return registry().parse_case("layernorm_residual:" + fields); }

// ---- exact values ----

void expect_within(const Reference& r, size_t i, const Big& want) {
  const Big error = (Big(r.hi[i]) + Big(r.lo[i]) - want).abs();
  ASSERT_FALSE(Big(r.e_ref[i]) < error) << r.tensor << "[" << i << "] r " << r.hi[i] << " e_ref " << r.e_ref[i]
                                        << " error " << error.value();
}

void expect_encloses_mpfr(const Case& c, int64_t* checked) {
  SCOPED_TRACE(c.id());
  const Inputs inputs(op(), c);
  const std::vector<double> x = inputs.values("x"), residual = inputs.values("residual");
  const std::vector<double> gamma = inputs.values("gamma");
  const bool bias = c.word("bias") == "yes";
  const std::vector<double> beta = bias ? inputs.values("beta") : std::vector<double>(gamma.size());
  const size_t rows = c.integer("rows"), cols = c.integer("cols");
  const std::vector<Reference> r = op().oracle(c, inputs.views, 1);
  ASSERT_EQ(r.size(), 3u);
  for (size_t row = 0; row < rows; ++row) {
    const size_t first = row * cols;
    bool finite = true, nan = false;
    double sum_of_infinities = 0;
    for (size_t i = first; i < first + cols; ++i) {
      const double s = x[i] + residual[i];
      finite = finite && std::isfinite(x[i]) && std::isfinite(residual[i]);
      nan = nan || std::isnan(s);
      if (std::isinf(s)) sum_of_infinities += s;
    }
    if (!finite) {
      ASSERT_TRUE(nan ? std::isnan(r[1].hi[row])
                      : r[1].hi[row] == sum_of_infinities ||
                            (std::isnan(r[1].hi[row]) && std::isnan(sum_of_infinities)));
      ASSERT_TRUE(std::isnan(r[2].hi[row]));
      for (size_t i = first; i < first + cols; ++i) ASSERT_TRUE(std::isnan(r[0].hi[i]) && r[0].lo[i] == 0);
      continue;
    }
    Big mean(0), variance(0);
    std::vector<Big> s;
    for (size_t i = first; i < first + cols; ++i) {
      s.push_back(Big(x[i]) + Big(residual[i]));
      mean = mean + s.back();
    }
    mean = mean / Big(static_cast<double>(cols));
    for (const Big& value : s) variance = variance + (value - mean) * (value - mean);
    variance = variance / Big(static_cast<double>(cols));
    const Big rstd = Big(1) / (variance + Big(c.real("eps"))).sqrt();
    expect_within(r[1], row, mean);
    expect_within(r[2], row, rstd);
    for (size_t j = 0; j < cols; ++j) {
      expect_within(r[0], first + j, (s[j] - mean) * rstd * Big(gamma[j]) + Big(beta[j]));
      ++*checked;
    }
    if (::testing::Test::HasFatalFailure()) return;
  }
}

TEST(LayernormOracle, MpfrLiesWithinItsBound) {
  int64_t checked = 0;
  for (const Case& c : op().cases(Tier::ci)) {
    if (c.integer("rows") * c.integer("cols") <= 700) expect_encloses_mpfr(c, &checked);
  }
  for (const char* fields : {"rows=3,cols=1000,dtype=f32,fill=shifted", "rows=3,cols=1000,dtype=f64,fill=shifted",
                             "rows=4,cols=500,dtype=f64,fill=huge", "rows=4,cols=500,dtype=f64,fill=scaled,eps=1e-30",
                             "rows=4,cols=500,dtype=f64,fill=cancelling", "rows=4,cols=500,dtype=bf16,fill=scaled",
                             "rows=30,cols=1,dtype=f64,fill=huge", "rows=30,cols=1,dtype=f64,fill=huge,eps=1e-30"}) {
    expect_encloses_mpfr(case_of(fields), &checked);
  }
  std::printf("  %lld elements\n", static_cast<long long>(checked));
  EXPECT_GT(checked, 20000);
}

TEST(LayernormOracle, BoundIsFarBelowThatOfAnyKernel) {
  for (const Case& c : op().cases(Tier::ci)) {
    if (c.integer("rows") * c.integer("cols") > 10000) continue;
    const Inputs inputs(op(), c);
    const int32_t accumulator = c.word("dtype") == "f64" ? ASSAY_ACC_F64 : ASSAY_ACC_F32;
    for (const Reference& r : op().oracle(c, inputs.views, 1)) {
      const Bounds bounds = op().bounds(c, plain_contract(accumulator, 32, 6), r);
      for (size_t i = 0; i < r.size(); ++i) {
        if (!std::isfinite(r.hi[i])) continue;
        EXPECT_LE(r.e_ref[i], 0x1p-10 * bounds.e_alg[i] + 0x1p-1060) << c.id() << " " << r.tensor << " " << i;
      }
    }
  }
}

TEST(LayernormOracle, SameBitsForEveryThreadCount) {
  for (const char* fields : {"rows=37,cols=65,dtype=f32,fill=shifted", "rows=37,cols=65,dtype=f64"}) {
    const Inputs inputs(op(), case_of(fields));
    const auto one = op().oracle(case_of(fields), inputs.views, 1);
    EXPECT_TRUE(same_bits(one, op().oracle(case_of(fields), inputs.views, 2)));
    EXPECT_TRUE(same_bits(one, op().oracle(case_of(fields), inputs.views, 3)));
  }
}

// ---- implementations in precision T, right and wrong ----

enum class Moments { two_pass, welford, one_pass };

struct Variant {
  Order order = Order::lanes;
  Moments moments = Moments::two_pass;
  bool epsilon_inside = true;
  bool use_epsilon = true;
  bool divide_by_n_less_1 = false;
  bool use_bias = true;
  bool use_residual = true;
  bool subtract_mean = true;
  bool last_column_counts = true;
  bool parameters_by_row = false;
  bool sum_in_16_bits = false;
};

template <class T>
Outputs layernorm_in(const Case& c, const Inputs& inputs, const Variant& v) {
  const std::vector<double> x = inputs.values("x"), residual = inputs.values("residual");
  const std::vector<double> gamma = inputs.values("gamma");
  const bool bias = c.word("bias") == "yes";
  const std::vector<double> beta = bias ? inputs.values("beta") : std::vector<double>();
  const int64_t rows = c.integer("rows"), cols = c.integer("cols");
  const T epsilon = v.use_epsilon ? static_cast<T>(c.real("eps")) : T(0);
  std::vector<double> y(x.size()), means(rows), deviations(rows);
  for (int64_t row = 0; row < rows; ++row) {
    std::vector<T> s(cols);
    for (int64_t j = 0; j < cols; ++j) {
      const size_t i = row * cols + j;
      s[j] = static_cast<T>(x[i]) + (v.use_residual ? static_cast<T>(residual[i]) : T(0));
      if (v.sum_in_16_bits) s[j] = static_cast<T>(round_to(DType::bf16, s[j]));
    }
    const int64_t counted = v.last_column_counts || cols == 1 ? cols : cols - 1;
    const T n = static_cast<T>(counted);
    T mean = sum_in<T>(v.order, counted, [&](int64_t j) { return s[j]; }) / n;
    T squares = sum_in<T>(v.order, counted, [&](int64_t j) { return (s[j] - mean) * (s[j] - mean); });
    if (v.moments == Moments::one_pass) {
      squares = sum_in<T>(v.order, counted, [&](int64_t j) { return s[j] * s[j]; }) - n * mean * mean;
      squares = std::fmax(squares, T(0));
    } else if (v.moments == Moments::welford) {
      mean = squares = 0;
      for (int64_t j = 0; j < counted; ++j) {
        const T delta = s[j] - mean;
        mean += delta / static_cast<T>(j + 1);
        squares += delta * (s[j] - mean);
      }
    }
    const T variance = squares / (v.divide_by_n_less_1 ? n - 1 : n);
    const T rstd = v.epsilon_inside ? T(1) / std::sqrt(variance + epsilon) : T(1) / (std::sqrt(variance) + epsilon);
    means[row] = mean;
    deviations[row] = rstd;
    for (int64_t j = 0; j < cols; ++j) {
      const int64_t k = v.parameters_by_row ? row % cols : j;
      T value = (s[j] - (v.subtract_mean ? mean : T(0))) * rstd * static_cast<T>(gamma[k]);
      if (bias && v.use_bias) value += static_cast<T>(beta[k]);
      y[row * cols + j] = value;
    }
  }
  return {y, means, deviations};
}

std::vector<ErrorSummary> judged(const Case& c, const Variant& v, uint64_t seed) {
  const Inputs inputs(op(), c, seed);
  const bool is_f64 = c.word("dtype") == "f64";
  const Contract contract = plain_contract(is_f64 ? ASSAY_ACC_F64 : ASSAY_ACC_F32,
                                           v.moments == Moments::welford ? 0 : kTestDepthDivisor, kTestDepthConstant);
  return judge(op(), c, inputs, contract,
               is_f64 ? layernorm_in<double>(c, inputs, v) : layernorm_in<float>(c, inputs, v));
}

TEST(LayernormBound, CorrectImplementationsNeverFail) {
  const std::vector<Variant> right{
      {}, {.order = Order::backward_lanes}, {.order = Order::pairwise}, {.moments = Moments::welford}};
  expect_right_everywhere(op(), right, 3000, judged);
}

TEST(LayernormBound, WrongImplementationsFailInTheSmokeTier) {
  const std::vector<std::pair<const char*, Variant>> wrong{
      {"one-pass variance", {.moments = Moments::one_pass}},
      {"eps outside the root", {.epsilon_inside = false}},
      {"eps ignored", {.use_epsilon = false}},
      {"n - 1 for n", {.divide_by_n_less_1 = true}},
      {"bias missing", {.use_bias = false}},
      {"residual missing", {.use_residual = false}},
      {"mean not subtracted", {.subtract_mean = false}},
      {"last column left out", {.last_column_counts = false}},
      {"parameters indexed by row", {.parameters_by_row = true}},
      {"x + residual rounded to bf16", {.sum_in_16_bits = true}},
  };
  expect_smoke_sees(op(), wrong, judged);
}

TEST(Layernorm, FieldsAreChecked) {
  const auto message = [](const std::string& fields) { return message_of([&] { op().tensors(case_of(fields)); }); };
  EXPECT_NE(message("rows=1,cols=1,dtype=f32,eps=0").find("'eps'"), std::string::npos);
  EXPECT_NE(message("rows=1,cols=1,dtype=f32,eps=nan").find("'eps'"), std::string::npos);
  EXPECT_NE(message("rows=1,cols=0,dtype=f32").find("'cols'"), std::string::npos);
  EXPECT_NE(message("rows=1,cols=1,dtype=f32,fill=x").find("not one of normal"), std::string::npos);
  const auto tensors = op().tensors(case_of("rows=3,cols=4,bias=no,dtype=bf16"));
  ASSERT_EQ(tensors.size(), 6u);
  EXPECT_EQ(tensors[4].name, "mean");
  EXPECT_EQ(tensors[4].dtype, DType::f32);
}

// Whose only number is far from the least: the deviation is that of eps alone, and not lost in scaling it.
TEST(Layernorm, ARowOfOneHugeNumberIsItsBias) {
  const Case c = case_of("rows=30,cols=1,dtype=f64,fill=huge");
  const Inputs inputs(op(), c);
  const std::vector<Reference> r = op().oracle(c, inputs.views, 1);
  double beta = 0;
  std::memcpy(&beta, inputs.named("beta").data, sizeof beta);
  for (size_t row = 0; row < 30; ++row) {
    EXPECT_EQ(r[0].hi[row], beta);
    EXPECT_TRUE(std::isfinite(r[0].e_ref[row]));
    EXPECT_NEAR(r[2].hi[row], 1 / std::sqrt(c.real("eps")), 1e-10);
    EXPECT_TRUE(std::isfinite(r[2].e_ref[row]));
  }
}

TEST(Layernorm, AnInfiniteMeanMayBeNanAndNotTheOtherInfinity) {
  const Case c = case_of("rows=1,cols=4,dtype=f32");
  Inputs inputs(op(), c);
  const float inf = std::numeric_limits<float>::infinity(), x[] = {1, inf, 2, 3};
  std::memcpy(inputs.storage[0].data(), x, sizeof x);
  const auto failures = [&](double mean) {
    const std::vector<ErrorSummary> all =
        judge(op(), c, inputs, plain_contract(ASSAY_ACC_F32, 32, 16), {{NAN, NAN, NAN, NAN}, {mean}, {NAN}});
    return all[0].failures + all[1].failures + all[2].failures;
  };
  EXPECT_EQ(failures(inf), 0);
  EXPECT_EQ(failures(NAN), 0);
  EXPECT_EQ(failures(-inf), 1);
  EXPECT_EQ(failures(0), 1);
}

TEST(Layernorm, TiersAreSubsets) { expect_tiers_nest(op(), 190); }

}  // namespace
}  // namespace assay
