// Fingerprints: what is read from the probes of an op is what a simulated kernel does. The inputs are those that real
// kernels get: the op's own probes and fills.
#include "check/fingerprint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <set>

#include "core/error.h"
#include "core/op.h"
#include "fill/fill.h"

namespace assay {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

using Terms = std::vector<double>;
using Dot = std::function<double(const Terms& a, const Terms& b)>;

float f(double x) { return static_cast<float>(x); }

// ---- simulated sums ----

double sequential(const Terms& a, const Terms& b) {
  float sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += f(a[i]) * f(b[i]);
  return sum;
}

double sequential_fused(const Terms& a, const Terms& b) {
  float sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum = std::fma(f(a[i]), f(b[i]), sum);
  return sum;
}

double last_to_first(const Terms& a, const Terms& b) {
  float sum = 0;
  for (size_t i = a.size(); i-- > 0;) sum += f(a[i]) * f(b[i]);
  return sum;
}

double in_double(const Terms& a, const Terms& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

float pairs(const Terms& a, const Terms& b, size_t begin, size_t end) {
  if (end - begin == 1) return f(a[begin]) * f(b[begin]);
  const size_t middle = begin + (end - begin) / 2;
  return pairs(a, b, begin, middle) + pairs(a, b, middle, end);
}
double pairwise(const Terms& a, const Terms& b) { return pairs(a, b, 0, a.size()); }

// Term i goes to lane i % width; lanes are added in turn.
Dot lanes(size_t width) {
  return [width](const Terms& a, const Terms& b) -> double {
    std::vector<float> sums(width, 0);
    for (size_t i = 0; i < a.size(); ++i) sums[i % width] += f(a[i]) * f(b[i]);
    float sum = 0;
    for (const float lane : sums) sum += lane;
    return sum;
  };
}

// Each block summed in turn from zero and passed through `store`, then added to the blocks before.
Dot blocks(
    std::function<size_t(size_t)> length, std::function<double(double)> store = [](double x) { return x; }) {
  return [=](const Terms& a, const Terms& b) -> double {
    float sum = 0;
    for (size_t begin = 0; begin < a.size(); begin += length(a.size())) {
      float block = 0;
      for (size_t i = begin; i < std::min(begin + length(a.size()), a.size()); ++i) block += f(a[i]) * f(b[i]);
      sum += f(store(block));
    }
    return sum;
  };
}

double cut(double x, int lowest) { return std::ldexp(std::trunc(std::ldexp(x, -lowest)), lowest); }

// The model of reference/math/tensor_unit.h.
Dot tensor_unit(size_t terms, int fraction, int precision) {
  return [=](const Terms& a, const Terms& b) {
    double sum = 0;
    for (size_t begin = 0; begin < a.size(); begin += terms) {
      std::vector<double> addends{sum};
      for (size_t i = begin; i < std::min(begin + terms, a.size()); ++i) addends.push_back(a[i] * b[i]);
      int largest = -100000;
      for (const double x : addends) largest = x == 0 ? largest : std::max(largest, std::ilogb(x));
      double total = 0;
      for (const double x : addends) total += cut(x, largest - fraction);
      sum = total == 0 ? 0 : cut(total, std::ilogb(total) - precision);
    }
    return sum;
  };
}

double towards_zero(const Terms& a, const Terms& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const double next = sum + a[i] * b[i];  // of two powers of two far apart a double cuts what an f32 would not keep
    sum = next == 0 ? 0 : cut(next, std::ilogb(next) - 23);
  }
  return sum;
}

Dot with_inputs(std::function<double(double)> change, Dot dot) {
  return [=](Terms a, Terms b) {
    for (Terms* terms : {&a, &b}) {
      for (double& x : *terms) x = change(x);
    }
    return dot(a, b);
  };
}

double flushed(double x) { return std::fabs(x) < 0x1p-126 ? 0 : x; }

// ---- simulated kernels ----

Terms filled(const TensorSpec& spec, uint64_t seed) {
  std::vector<std::byte> bytes(static_cast<size_t>(spec.elements()) * size_of(spec.dtype));
  fill_tensor(spec, seed, bytes.data());
  Terms values;
  for (int64_t i = 0; i < spec.elements(); ++i) values.push_back(load(spec.dtype, bytes.data(), i));
  return values;
}

struct Gemm {
  Dot dot;
  std::function<double(double)> store = [](double x) { return x; };  // before it is rounded to the output
  Dot alone{};                                                       // of a product with one row
};

ProbeAnswer answer_of_gemm(const Op& op, const Probe& probe, const Gemm& gemm) {
  const std::vector<TensorSpec> tensors = op.tensors(probe.c);
  const auto m = static_cast<size_t>(probe.c.integer("m")), n = static_cast<size_t>(probe.c.integer("n"));
  const auto k = static_cast<size_t>(probe.c.integer("k"));
  const uint64_t seed = static_cast<uint64_t>(probe.c.integer("seed"));
  const Terms a = filled(tensors[0], seed), b = filled(tensors[1], seed);
  const bool turned = probe.c.word("tb") == "t";
  std::vector<Terms> columns(n, Terms(k));
  for (size_t j = 0; j < n; ++j) {
    for (size_t p = 0; p < k; ++p) columns[j][p] = turned ? b[j * k + p] : b[p * n + j];
  }
  const DType out = tensors[2].dtype;
  const Dot& dot = m == 1 && gemm.alone ? gemm.alone : gemm.dot;
  ProbeAnswer answer{out, std::vector<std::byte>(m * n * size_of(out))};
  const bool on_diagonal = probe::in_both_factors(tensors[0].dtype) && probe.c.word("fill") == "probe_spine";
  for (size_t i = 0; i < m; ++i) {
    const Terms row(a.begin() + static_cast<std::ptrdiff_t>(i * k),
                    a.begin() + static_cast<std::ptrdiff_t>((i + 1) * k));
    double value = 0;
    for (size_t j = 0; j < n; ++j) {
      if (on_diagonal && i != j) continue;  // nobody reads the others
      if (on_diagonal || j == 0 || columns[j] != columns[j - 1]) value = dot(row, columns[j]);
      const double stored = gemm.store(probe.c.real("alpha") * value);
      store_bits(out, answer.bytes.data(), static_cast<int64_t>(i * n + j), encode(out, stored));
    }
  }
  return answer;
}

ProbeSet probes_named(const Op& op, const std::string& variant) {
  for (const ProbeSet& set : op.probes()) {
    if (set.variant == variant) return set;
  }
  throw Error("no variant " + variant);
}

Fingerprint fingerprint_of(const Gemm& gemm, const std::string& variant = "dtype=f32") {
  const OpRegistry ops = make_op_registry();
  const Op& op = ops.named("gemm");
  const ProbeSet set = probes_named(op, variant);
  std::vector<ProbeAnswer> answers;
  for (const Probe& probe : set.probes) answers.push_back(answer_of_gemm(op, probe, gemm));
  return {.op = "gemm", .kernel = "simulated", .target = "cpu", .variant = variant, .facts = facts_of(set, answers)};
}

std::string value(const Fingerprint& fingerprint, std::string_view name) {
  const Fact* fact = fingerprint.find(name);
  return fact == nullptr ? "nothing" : fact->value.empty() ? "unknown: " + fact->why : fact->value;
}

// ---- what is read ----

TEST(Fingerprint, ASequentialSumInSinglePrecision) {
  const Fingerprint found = fingerprint_of({sequential});
  EXPECT_EQ(value(found, "shape"), "sequential");
  EXPECT_EQ(value(found, "tree"), "(0:63)");
  EXPECT_EQ(value(found, "long_sum"), "sequential");
  EXPECT_EQ(value(found, "split_k"), "none");
  EXPECT_EQ(value(found, "aligned_bits"), "23");
  EXPECT_EQ(value(found, "kept_bits"), "23");
  EXPECT_EQ(value(found, "partial_bits"), "23");
  EXPECT_EQ(value(found, "rounding"), "nearest, ties to even");
  EXPECT_EQ(value(found, "input_bits"), "23, all");
  EXPECT_EQ(value(found, "fused_multiply"), "no");
  EXPECT_EQ(value(found, "subnormal_inputs"), "kept");
  EXPECT_EQ(value(found, "subnormal_sums"), "kept");
  EXPECT_EQ(value(found, "subnormal_outputs"), "kept");
  EXPECT_EQ(value(found, "columns"), "alike");
  EXPECT_EQ(value(found, "batch"), "the same alone");
  EXPECT_EQ(value(found, "unit"), "nothing");
}

TEST(Fingerprint, AFusedMultiplyIsToldFromARoundedOne) {
  EXPECT_EQ(value(fingerprint_of({sequential_fused}), "fused_multiply"), "yes");
}

TEST(Fingerprint, OrdersOfSummation) {
  EXPECT_EQ(value(fingerprint_of({last_to_first}), "shape"), "sequential, last to first");
  const Fingerprint halves = fingerprint_of({pairwise});
  EXPECT_EQ(value(halves, "shape"), "pairwise");
  EXPECT_EQ(value(halves, "long_sum"), "pairwise");
  const Fingerprint eight = fingerprint_of({lanes(8)});
  EXPECT_EQ(value(eight, "shape"), "8 lanes of 8, then sequential");
  EXPECT_THAT(value(eight, "tree"), StartsWith("(0:56:8,(1:57:8),(2:58:8),"));
}

TEST(Fingerprint, BlocksKeepTheirLengthAndSlicesTheirNumber) {
  const Fingerprint of_256 = fingerprint_of({blocks([](size_t) { return 256; })});
  EXPECT_EQ(value(of_256, "long_sum"), "blocks of 256 in turn, sequential inside");
  EXPECT_EQ(value(of_256, "split_k"), "none");
  const Fingerprint slices = fingerprint_of({blocks([](size_t k) { return k > 1024 ? k / 8 : k; })});
  EXPECT_EQ(value(slices, "long_sum"), "blocks of 512 in turn, sequential inside");
  EXPECT_EQ(value(slices, "split_k"), "8");
}

TEST(Fingerprint, BlocksOfWhichTheLastAreShorter) {
  const auto dot = [](const Terms& a, const Terms& b) -> double {
    float sum = 0;
    for (size_t begin = 0; begin < a.size();) {
      const size_t left = a.size() - begin, length = left >= 640 ? 320 : left > 320 ? left / 2 : left;
      float block = 0;
      for (size_t i = begin; i < begin + length; ++i) block += f(a[i]) * f(b[i]);
      sum += block;
      begin += length;
    }
    return sum;
  };
  const Fingerprint found = fingerprint_of({dot});
  EXPECT_EQ(value(found, "long_sum"), "blocks of 11 x 320, 2 x 288 in turn, sequential inside");
  EXPECT_EQ(value(found, "split_k"), "none");
}

TEST(Fingerprint, PartialSumsStoredNarrower) {
  const auto in_bf16 = [](double x) { return round_to(DType::bf16, x); };
  const auto eighth = [](size_t k) { return k > 1024 ? k / 8 : k; };
  const Fingerprint found = fingerprint_of({blocks(eighth, in_bf16)});
  EXPECT_EQ(value(found, "kept_bits"), "23");
  EXPECT_EQ(value(found, "partial_bits"), "7");
}

// Units as published, and one of each number off by one.
TEST(Fingerprint, MatrixUnits) {
  for (const auto& [terms, fraction, precision] :
       {std::tuple{8, 24, 23}, {16, 25, 23}, {4, 24, 23}, {16, 24, 23}, {16, 25, 22}, {32, 25, 23}}) {
    const Gemm unit{tensor_unit(static_cast<size_t>(terms), fraction, precision)};
    for (const char* variant : {"dtype=f16", "dtype=bf16"}) {
      const Fingerprint found = fingerprint_of(unit, variant);
      EXPECT_EQ(value(found, "unit"), unit_text(terms, fraction, precision)) << variant;
      EXPECT_EQ(value(found, "shape"), "steps of " + std::to_string(terms)) << variant;
      EXPECT_EQ(value(found, "rounding"), "towards zero") << variant;
      EXPECT_EQ(value(found, "stored_rounding"), "nearest, ties to even") << variant;
    }
  }
}

TEST(Fingerprint, AMatrixUnitOfShortInputs) {
  const std::string variant = "tb=t,out=f32,dtype=e4m3";
  EXPECT_EQ(value(fingerprint_of({tensor_unit(32, 13, 13)}, variant), "unit"), "32/13/13");
  EXPECT_EQ(value(fingerprint_of({tensor_unit(16, 13, 13)}, variant), "unit"), "16/13/13");
  // Longer than the inputs' range, and told so.
  EXPECT_THAT(value(fingerprint_of({sequential}, variant), "kept_bits"), HasSubstr("or more"));
  EXPECT_EQ(value(fingerprint_of({sequential}, variant), "shape"), "sequential");
}

TEST(Fingerprint, TruncationIsToldFromRounding) {
  EXPECT_EQ(value(fingerprint_of({towards_zero}), "rounding"), "towards zero");
}

TEST(Fingerprint, AnOutputThatIsCutInsteadOfRounded) {
  const auto cut_to_bf16 = [](double x) { return x == 0 ? 0 : cut(x, std::ilogb(x) - 7); };
  EXPECT_EQ(value(fingerprint_of({sequential}, "dtype=bf16"), "stored_rounding"), "nearest, ties to even");
  EXPECT_EQ(value(fingerprint_of({sequential, cut_to_bf16}, "dtype=bf16"), "stored_rounding"), "towards zero");
}

TEST(Fingerprint, InputsThatAreCut) {
  const auto truncated = [](double x) { return x == 0 ? 0 : cut(x, std::ilogb(x) - 10); };
  const auto rounded = [](double x) {
    return x == 0 ? 0 : std::ldexp(std::nearbyint(std::ldexp(x, 10 - std::ilogb(x))), std::ilogb(x) - 10);
  };
  const Fingerprint found = fingerprint_of({with_inputs(truncated, sequential)});
  EXPECT_EQ(value(found, "input_bits"), "10, towards zero");
  EXPECT_THAT(value(found, "fused_multiply"), StartsWith("unknown: inputs are cut"));
  EXPECT_EQ(value(fingerprint_of({with_inputs(rounded, sequential)}), "input_bits"), "10, nearest");
}

TEST(Fingerprint, SubnormalsThatAreFlushed) {
  const Fingerprint in = fingerprint_of({with_inputs(flushed, sequential)});
  EXPECT_EQ(value(in, "subnormal_inputs"), "flushed");
  EXPECT_EQ(value(in, "subnormal_sums"), "kept");
  const auto dot = [](const Terms& a, const Terms& b) { return flushed(sequential(a, b)); };
  const Fingerprint sums = fingerprint_of({dot});
  EXPECT_EQ(value(sums, "subnormal_sums"), "flushed");
  EXPECT_EQ(value(sums, "subnormal_outputs"), "kept");
  EXPECT_EQ(value(fingerprint_of({sequential, flushed}), "subnormal_outputs"), "flushed");
}

TEST(Fingerprint, ARowAloneThatIsSummedInAnotherOrder) {
  EXPECT_EQ(value(fingerprint_of({.dot = sequential, .alone = pairwise}), "batch"), "differs");
}

TEST(Fingerprint, WhatTheRangeOfInputsDoesNotShowIsUnknown) {
  const Fingerprint found = fingerprint_of({in_double}, "dtype=f16");
  EXPECT_THAT(value(found, "shape"), StartsWith("unknown: "));
  EXPECT_THAT(value(found, "rounding"), StartsWith("unknown: "));
  EXPECT_THAT(value(found, "kept_bits"), HasSubstr("or more"));
}

TEST(Fingerprint, InDoublePrecision) {
  const Fingerprint found = fingerprint_of({in_double}, "dtype=f64");
  EXPECT_EQ(value(found, "shape"), "sequential");
  EXPECT_EQ(value(found, "kept_bits"), "52");
  EXPECT_EQ(value(found, "fused_multiply"), "no");
  EXPECT_EQ(value(fingerprint_of({in_double}), "kept_bits"), "52");
}

TEST(Fingerprint, NoTwoWaysToComputeLookAlike) {
  std::vector<Gemm> ways{{sequential},
                         {sequential_fused},
                         {last_to_first},
                         {pairwise},
                         {lanes(4)},
                         {lanes(8)},
                         {lanes(16)},
                         {in_double},
                         {towards_zero},
                         {tensor_unit(8, 24, 23)},
                         {tensor_unit(16, 25, 23)}};
  for (const size_t length : {128, 320, 384}) ways.push_back({blocks([length](size_t) { return length; })});
  for (const size_t slices : {2, 4}) ways.push_back({blocks([slices](size_t k) { return k / slices; })});
  std::vector<Fingerprint> all;
  for (const Gemm& way : ways) all.push_back(fingerprint_of(way));
  EXPECT_THAT(changed_facts(all[0].facts, fingerprint_of(ways[0]).facts), IsEmpty());
  for (size_t i = 0; i < all.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      std::vector<Fact> one = all[i].facts, other = all[j].facts;
      for (auto* facts : {&one, &other}) std::erase_if(*facts, [](const Fact& fact) { return fact.name == "order"; });
      EXPECT_FALSE(changed_facts(one, other).empty()) << i << " and " << j << " but for the hash";
      EXPECT_NE(value(all[i], "order"), value(all[j], "order")) << i << " and " << j;
    }
  }
}

TEST(Fingerprint, ARefusedProbeLeavesItsFactsUnknown) {
  const OpRegistry ops = make_op_registry();
  const ProbeSet set = probes_named(ops.named("gemm"), "dtype=f32");
  std::vector<ProbeAnswer> answers;
  for (const Probe& probe : set.probes) {
    answers.push_back(probe.reveals == Reveals::tree ? ProbeAnswer{DType::f32, {}, "refused: k is too small"}
                                                     : answer_of_gemm(ops.named("gemm"), probe, {sequential}));
  }
  const Fingerprint found{.variant = "dtype=f32", .facts = facts_of(set, answers)};
  EXPECT_EQ(value(found, "shape"), "unknown: refused: k is too small");
  EXPECT_EQ(value(found, "kept_bits"), "23");
}

TEST(Fingerprint, EveryOpOfTheBuildHasProbesAndTheyAreCasesThatParse) {
  const OpRegistry ops = make_op_registry();
  for (const auto& op : ops.all()) {
    std::set<std::string> variants;
    // Of BLAS, one sum tells: its other functions share their loops with it, or have none.
    if (op->name().starts_with("blas_") && op->name() != "blas_dot") continue;
    if (op->name() == "matmul") continue;  // gemm tells of the same library's products
    ASSERT_FALSE(op->probes().empty()) << op->name();
    for (const ProbeSet& set : op->probes()) {
      EXPECT_TRUE(variants.insert(set.variant).second) << set.variant;
      std::vector<ProbeAnswer> refused;
      for (const Probe& probe : set.probes) {
        EXPECT_EQ(ops.parse_case(probe.c.id()), probe.c);
        bool is_there = false;
        for (const TensorSpec& tensor : op->tensors(probe.c)) is_there = is_there || tensor.name == probe.output;
        EXPECT_TRUE(is_there) << probe.c.id() << " " << probe.output;
        refused.push_back({DType::f32, {}, "refused"});
      }
      std::set<std::string_view> known;
      for (const FactRow& row : fact_table()) known.insert(row.name);
      for (const Fact& fact : facts_of(set, refused)) {
        EXPECT_TRUE(known.contains(fact.name)) << fact.name;
        EXPECT_EQ(fact.why, "refused") << op->name() << " " << fact.name;
      }
    }
  }
}

// ---- sums of the other ops ----

// Rows of a matrix summed, each with ones.
ProbeAnswer answer_of_sum(const Op& op, const Probe& probe, const Dot& dot, DType out) {
  const TensorSpec spec = op.tensors(probe.c)[0];
  const Terms x = filled(spec, 1);
  const auto n = static_cast<size_t>(probe.terms);
  const size_t sums = x.size() / n;
  const bool across = probe.reveals == Reveals::tree_across;
  ProbeAnswer answer{out, std::vector<std::byte>(sums * size_of(out))};
  for (size_t i = 0; i < sums; ++i) {
    Terms row;
    for (size_t p = 0; p < n; ++p) row.push_back(across ? x[p * sums + i] : x[i * n + p]);
    store_bits(out, answer.bytes.data(), static_cast<int64_t>(i), encode(out, dot(row, Terms(n, 1)) * probe.factor));
  }
  return answer;
}

TEST(Fingerprint, SumsOfRowsAndColumns) {
  const OpRegistry ops = make_op_registry();
  const Op& op = ops.named("reduce");
  const ProbeSet set = probes_named(op, "kind=sum,dtype=bf16");
  std::vector<ProbeAnswer> answers;
  for (const Probe& probe : set.probes) {
    const bool across = probe.reveals == Reveals::tree_across;
    answers.push_back(answer_of_sum(op, probe, across ? Dot(sequential) : lanes(16), DType::bf16));
  }
  const Fingerprint found{.variant = set.variant, .facts = facts_of(set, answers)};
  EXPECT_EQ(value(found, "shape"), "16 lanes of 8, then sequential");
  EXPECT_EQ(value(found, "shape_across"), "sequential");
  EXPECT_EQ(value(found, "kept_bits"), "23");
  EXPECT_EQ(value(found, "stored_rounding"), "nearest, ties to even");
  EXPECT_EQ(value(found, "subnormal_inputs"), "kept");
}

TEST(Fingerprint, TheMeanTellsOfASumThatIsScaled) {
  const OpRegistry ops = make_op_registry();
  const Op& op = ops.named("layernorm_residual");
  ProbeSet set = probes_named(op, "dtype=f16");
  std::erase_if(set.probes, [](const Probe& probe) { return probe.output != "mean"; });
  std::vector<ProbeAnswer> answers;
  for (const Probe& probe : set.probes) answers.push_back(answer_of_sum(op, probe, pairwise, DType::f32));
  const Fingerprint found{.variant = set.variant, .facts = facts_of(set, answers)};
  EXPECT_EQ(value(found, "shape"), "pairwise");
  EXPECT_EQ(value(found, "kept_bits"), "23");
}

TEST(Fingerprint, PositiveSumsTellBySwallowing) {
  const OpRegistry ops = make_op_registry();
  const Op& op = ops.named("softmax");
  const ProbeSet set = probes_named(op, "dtype=f32");
  const auto absorbed = [&](const Dot& dot) {
    const Probe& probe = set.probes[0];
    const Terms x = filled(op.tensors(probe.c)[0], 1);
    ProbeAnswer answer{DType::f32, std::vector<std::byte>(x.size() * 4)};
    for (size_t i = 0; i < 128; ++i) {
      Terms row;
      for (size_t p = 0; p < 128; ++p) row.push_back(std::exp(x[i * 128 + p]));
      const double sum = dot(row, Terms(128, 1));
      for (size_t p = 0; p < 128; ++p) {
        store_bits(DType::f32, answer.bytes.data(), static_cast<int64_t>(i * 128 + p),
                   encode(DType::f32, row[p] / sum));
      }
    }
    std::vector<ProbeAnswer> answers(set.probes.size(), {DType::f32, {}, "refused"});
    answers[0] = answer;
    return value({.variant = set.variant, .facts = facts_of(set, answers)}, "absorbed");
  };
  EXPECT_THAT(absorbed(sequential), StartsWith("as in sequence"));
  const std::set<std::string> told{absorbed(sequential), absorbed(pairwise), absorbed(lanes(8)), absorbed(lanes(16)),
                                   absorbed(last_to_first)};
  EXPECT_EQ(told.size(), 5u);
}

}  // namespace
}  // namespace assay
