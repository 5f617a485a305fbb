// reference/softmax: MPFR confirms value and bound; correct implementations stay inside E_alg, wrong ones do not.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "core/error.h"
#include "mpfr_value.h"
#include "oracle_run.h"
#include "oracle_suite.h"
#include "scratch.h"

namespace assay {
namespace {

using namespace testing;

constexpr double kInf = std::numeric_limits<double>::infinity();

const Op& op() { return registry().named("softmax"); }
Case case_of(const std::string& fields) { return registry().parse_case("softmax:" + fields); }

std::vector<double> mask_of(const Case& c, const Inputs& inputs) {
  return c.word("mask") == "additive" ? inputs.values("mask") : std::vector<double>();
}

// Exact results of one row of finite inputs (masks may be -inf).
std::vector<Big> exact_row(const double* x, const double* mask, int64_t cols, double scale) {
  std::vector<Big> e(static_cast<size_t>(cols));
  Big sum(0), max(-kInf);
  const auto z = [&](int64_t j) { return Big(x[j]) * Big(scale) + Big(mask == nullptr ? 0 : mask[j]); };
  for (int64_t j = 0; j < cols; ++j) {
    if (max < z(j)) max = z(j);
  }
  for (int64_t j = 0; j < cols; ++j) {
    e[static_cast<size_t>(j)] = (z(j) - max).exp();
    sum = sum + e[static_cast<size_t>(j)];
  }
  for (Big& value : e) value = value / sum;
  return e;
}

void expect_encloses_mpfr(const Case& c, int64_t* checked) {
  SCOPED_TRACE(c.id());
  const Inputs inputs(op(), c);
  const std::vector<double> x = inputs.values("x"), mask = mask_of(c, inputs);
  const int64_t rows = c.integer("rows"), cols = c.integer("cols");
  const Reference r = op().oracle(c, inputs.views, 1).at(0);
  ASSERT_EQ(r.size(), x.size());
  for (int64_t row = 0; row < rows; ++row) {
    const double* m = mask.empty() ? nullptr : mask.data() + row * cols;
    bool finite = true, any = false;
    for (int64_t j = 0; j < cols; ++j) {
      finite = finite && (std::isfinite(x[row * cols + j]) || (m != nullptr && m[j] == -kInf));
      any = any || m == nullptr || m[j] != -kInf;
    }
    if (!finite || !any) {
      bool nan_or_inf = !any;
      for (int64_t j = 0; j < cols; ++j) {
        const bool hidden = m != nullptr && m[j] == -kInf;
        nan_or_inf = nan_or_inf || (!hidden && !(x[row * cols + j] < kInf));
      }
      for (int64_t j = 0; j < cols; ++j) {
        ASSERT_EQ(std::isnan(r.hi[row * cols + j]), nan_or_inf) << "row " << row << " col " << j;
        ASSERT_EQ(r.lo[row * cols + j] == 0 || !nan_or_inf, true);
      }
      continue;
    }
    std::vector<double> hidden_free(x.begin() + row * cols, x.begin() + (row + 1) * cols);
    for (int64_t j = 0; j < cols; ++j) {
      if (m != nullptr && m[j] == -kInf) hidden_free[j] = 0;
    }
    const std::vector<Big> want = exact_row(hidden_free.data(), m, cols, c.real("scale"));
    for (int64_t j = 0; j < cols; ++j) {
      const size_t i = row * cols + j;
      const Big error = (Big(r.hi[i]) + Big(r.lo[i]) - want[j]).abs();
      ASSERT_FALSE(Big(r.e_ref[i]) < error)
          << "element " << i << " r " << r.hi[i] << " e_ref " << r.e_ref[i] << " error " << error.value();
      ++*checked;
    }
  }
}

TEST(SoftmaxOracle, MpfrLiesWithinItsBound) {
  int64_t checked = 0;
  for (const Case& c : op().cases(Tier::ci)) {
    if (c.integer("rows") * c.integer("cols") <= 600) expect_encloses_mpfr(c, &checked);
  }
  for (const char* fields :
       {"rows=2,cols=1000,dtype=f32,fill=large", "rows=2,cols=1000,dtype=f64,fill=scaled",
        "rows=2,cols=1000,dtype=f64,fill=ascending", "rows=1,cols=4099,dtype=bf16,fill=negative"}) {
    expect_encloses_mpfr(case_of(fields), &checked);
  }
  EXPECT_GT(checked, 20000);
  std::printf("  %lld elements\n", static_cast<long long>(checked));
}

TEST(SoftmaxOracle, BoundIsFarBelowThatOfAnyKernel) {
  for (const Case& c : op().cases(Tier::smoke)) {
    const Inputs inputs(op(), c);
    const Reference r = op().oracle(c, inputs.views, 1).at(0);
    const bool is_f64 = r.dtype == DType::f64;
    const Contract contract = plain_contract(is_f64 ? ASSAY_ACC_F64 : ASSAY_ACC_F32, 32, 6);
    const Bounds bounds = op().bounds(c, contract, r);
    for (size_t i = 0; i < r.size(); ++i) {
      if (!(r.hi[i] > 1e-290)) continue;  // underflow terms are the format's own
      EXPECT_LE(r.e_ref[i], 0x1p-10 * bounds.e_alg[i]) << c.id() << " element " << i;
    }
  }
}

TEST(SoftmaxOracle, SameBitsForEveryThreadCount) {
  for (const char* fields : {"rows=37,cols=65,dtype=f32,mask=additive,fill=masked", "rows=37,cols=65,dtype=f64"}) {
    const Inputs inputs(op(), case_of(fields));
    const auto one = op().oracle(case_of(fields), inputs.views, 1);
    EXPECT_TRUE(same_bits(one, op().oracle(case_of(fields), inputs.views, 2)));
    EXPECT_TRUE(same_bits(one, op().oracle(case_of(fields), inputs.views, 3)));
    auto other = one;
    other[0].hi[5] += 1;
    EXPECT_FALSE(same_bits(one, other));
  }
}

// ---- implementations in precision T, right and wrong ----

struct Variant {
  Order order = Order::lanes;
  bool subtract_max = true;
  double first_max = -kInf;
  bool last_column_in_sum = true;
  bool use_scale = true;
  bool use_mask = true;
  bool nan_is_dropped = false;
  bool online = false;
  bool online_rescales = true;
};

template <class T>
Outputs softmax_in(const Case& c, const Inputs& inputs, const Variant& v) {
  const std::vector<double> x = inputs.values("x"), mask = mask_of(c, inputs);
  const int64_t rows = c.integer("rows"), cols = c.integer("cols");
  const T scale = v.use_scale ? static_cast<T>(c.real("scale")) : T(1);
  std::vector<double> y(x.size());
  for (int64_t row = 0; row < rows; ++row) {
    const auto z = [&](int64_t j) {
      const size_t i = row * cols + j;
      if (!mask.empty() && v.use_mask && mask[i] == -kInf) return static_cast<T>(-kInf);
      T value = static_cast<T>(x[i]) * scale;
      if (!mask.empty() && v.use_mask) value += static_cast<T>(mask[i]);
      return v.nan_is_dropped && std::isnan(value) ? static_cast<T>(-kInf) : value;
    };
    T max = static_cast<T>(v.first_max), sum = 0;
    for (int64_t j = 0; j < cols; ++j) {
      const T before = max;
      max = std::fmax(max, z(j));
      if (!v.online || z(j) == static_cast<T>(-kInf)) continue;
      if (v.online_rescales && before != max) sum *= before == static_cast<T>(-kInf) ? T(0) : std::exp(before - max);
      sum += std::exp(z(j) - max);
    }
    if (!v.subtract_max) max = 0;
    if (!v.online) {
      sum = sum_in<T>(v.order, cols - (v.last_column_in_sum ? 0 : 1), [&](int64_t j) { return std::exp(z(j) - max); });
    }
    for (int64_t j = 0; j < cols; ++j) y[row * cols + j] = std::exp(z(j) - max) / sum;
  }
  return {y};
}

std::vector<ErrorSummary> judged(const Case& c, const Variant& v, uint64_t seed) {
  const Inputs inputs(op(), c, seed);
  const bool is_f64 = c.word("dtype") == "f64";
  Contract contract =
      plain_contract(is_f64 ? ASSAY_ACC_F64 : ASSAY_ACC_F32, v.online ? 0 : kTestDepthDivisor, kTestDepthConstant);
  contract.arithmetic.rescales_online = v.online ? 1 : 0;
  return judge(op(), c, inputs, contract, is_f64 ? softmax_in<double>(c, inputs, v) : softmax_in<float>(c, inputs, v));
}

TEST(SoftmaxBound, CorrectImplementationsNeverFail) {
  const std::vector<Variant> right{{}, {.order = Order::backward_lanes}, {.order = Order::pairwise}, {.online = true}};
  expect_right_everywhere(op(), right, 3000, judged);
}

TEST(SoftmaxBound, WrongImplementationsFailInTheSmokeTier) {
  const std::vector<std::pair<const char*, Variant>> wrong{
      {"no max subtraction", {.subtract_max = false}},
      {"maximum starts from 0", {.first_max = 0}},
      {"last column left out of the sum", {.last_column_in_sum = false}},
      {"scale ignored", {.use_scale = false}},
      {"mask ignored", {.use_mask = false}},
      {"NaN swallowed", {.nan_is_dropped = true}},
      {"online without rescaling", {.online = true, .online_rescales = false}},
  };
  expect_smoke_sees(op(), wrong, judged);
}

TEST(Softmax, ShapesAndFillsAreChecked) {
  const auto message = [](const std::string& fields) { return message_of([&] { op().tensors(case_of(fields)); }); };
  EXPECT_NE(message("rows=1,cols=1,dtype=f32,fill=nrmal").find("not one of normal, uniform"), std::string::npos);
  EXPECT_NE(message("rows=1,cols=1,dtype=f32,scale=inf").find("not finite"), std::string::npos);
  EXPECT_NE(message("rows=1,cols=1,dtype=i8").find("not one of f64"), std::string::npos);
  const auto tensors = op().tensors(case_of("rows=3,cols=4,pad=2,mask=additive,dtype=bf16"));
  ASSERT_EQ(tensors.size(), 3u);
  EXPECT_EQ(tensors[1].name, "mask");
  EXPECT_EQ(tensors[2].strides[0], 6);
  EXPECT_EQ(tensors[2].role, Role::output);
}

TEST(Softmax, HiddenInfinityMayBeNanAndFullRowsAre) {
  const Case c = case_of("rows=40,cols=37,mask=additive,dtype=f32,fill=special");
  const Inputs inputs(op(), c);
  const std::vector<double> x = inputs.values("x"), mask = inputs.values("mask");
  const Reference r = op().oracle(c, inputs.views, 1).at(0);
  const Bounds bounds = op().bounds(c, plain_contract(ASSAY_ACC_F32, 32, 6), r);
  int hidden_rows = 0;
  for (int64_t row = 0; row < 40; ++row) {
    bool unclear = false;
    for (int64_t i = row * 37; i < (row + 1) * 37; ++i) unclear = unclear || (mask[i] == -kInf && !(x[i] < kInf));
    hidden_rows += unclear ? 1 : 0;
    EXPECT_EQ(bounds.evidence[row * 37], unclear ? Evidence::or_nan : Evidence::rigorous) << row;
  }
  EXPECT_GT(hidden_rows, 0);
  // A kernel that promises nothing of NaN may give anything there, and nowhere else.
  Contract unspecified = plain_contract(ASSAY_ACC_F32, 32, 6);
  unspecified.nan_policy = ASSAY_NAN_UNSPECIFIED;
  const Bounds free = op().bounds(c, unspecified, r);
  for (size_t i = 0; i < r.size(); ++i) {
    EXPECT_EQ(free.e_alg[i] == kInf, bounds.evidence[i] == Evidence::or_nan) << i;
  }
}

TEST(Softmax, CapsNameTheirReason) {
  const auto violation = [](auto change) {
    Contract contract = plain_contract(ASSAY_ACC_F32, 32, 16);
    change(contract);
    return op().cap_violation(contract);
  };
  EXPECT_EQ(violation([](Contract&) {}), "");
  EXPECT_EQ(violation([](Contract& c) { c.arithmetic.depth_divisor = 0; }), "");  // unknown: weak, but allowed
  EXPECT_NE(violation([](Contract& c) { c.arithmetic.accumulator = ASSAY_ACC_BF16; }), "");
  EXPECT_NE(violation([](Contract& c) { c.arithmetic.depth_divisor = 1; }), "");
  EXPECT_NE(violation([](Contract& c) { c.arithmetic.depth_divisor = -1; }), "");
  EXPECT_NE(violation([](Contract& c) { c.arithmetic.depth_constant = 1000; }), "");
  EXPECT_NE(violation([](Contract& c) { c.arithmetic.intermediate = ASSAY_ACC_F16; }), "");
  EXPECT_NE(violation([](Contract& c) { c.arithmetic.exp_kind = ASSAY_EXP_NONE; }), "");
  EXPECT_NE(violation([](Contract& c) { c.arithmetic.exp_kind = 9; }), "");
  EXPECT_NE(violation([](Contract& c) { c.owner.clear(); }), "");
  EXPECT_NE(violation([](Contract& c) { c.domain.clear(); }), "");
  EXPECT_NE(violation([](Contract& c) { c.interface_version = 0; }), "");
  EXPECT_NE(violation([](Contract& c) { c.alignment = 512; }), "");
  EXPECT_NE(violation([](Contract& c) { c.alignment = 24; }), "");
  EXPECT_NE(violation([](Contract& c) { c.workspace_limit = uint64_t{1} << 40; }), "");
  EXPECT_NE(violation([](Contract& c) { c.nan_policy = 7; }), "");
}

TEST(Softmax, TiersAreSubsetsAndUnknownDepthIsWeak) {
  expect_tiers_nest(op(), 190);
  const Case c = case_of("rows=2,cols=8,dtype=f32");
  const Inputs inputs(op(), c);
  const Reference r = op().oracle(c, inputs.views, 1).at(0);
  EXPECT_EQ(op().bounds(c, plain_contract(ASSAY_ACC_F32, 0, 0), r).evidence[0], Evidence::weak);
  EXPECT_EQ(op().bounds(c, plain_contract(ASSAY_ACC_F32, 32, 6), r).evidence[0], Evidence::rigorous);
}

}  // namespace
}  // namespace assay
