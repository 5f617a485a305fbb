// check/element_runs.h: every figure of judge_accuracy() and of TruthBuilder::add(), for right answers and for wrong
// ones; the elements' oracles, run by run, against the whole; sweeps through every input, in every op that has them.
#include "check/element_runs.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "check/bytes.h"
#include "core/error.h"
#include "oracle_run.h"
#include "record/json.h"

namespace assay {
namespace {

using namespace testing;

// An output near the truth: mostly it, now and then neighbours of it, now and then anything.
std::vector<std::byte> nearly(const TensorSpec& spec, const Reference& r, double share_wrong, std::mt19937_64& random) {
  std::vector<std::byte> got(r.size() * size_of(spec.dtype));
  for (size_t i = 0; i < r.size(); ++i) {
    uint64_t bits = encode(spec.dtype, r.hi[i] + r.lo[i]);
    const double draw = std::uniform_real_distribution<>()(random);
    if (draw < share_wrong) {
      bits = random();
    } else if (draw < 4 * share_wrong) {
      bits += random() % 7 - 3;
    } else if (draw < 5 * share_wrong) {
      bits ^= uint64_t{1} << (8 * size_of(spec.dtype) - 1);
    }
    store_bits(spec.dtype, got.data(), static_cast<int64_t>(i), bits);
  }
  return got;
}

// Every figure, each double to its last bit; NaN is itself.
std::string text(const ErrorSummary& summary) {
  Record record;
  record.errors = {summary};
  return to_json(record).at("errors").dump();
}

Contract with_exp(int32_t accumulator, int32_t exp_kind) {
  Contract contract = plain_contract(accumulator, 32, 1);
  contract.arithmetic.exp_kind = exp_kind;
  return contract;
}

struct Wanted {
  std::string fields;
  uint64_t seed;
};

class ElementRuns : public ::testing::TestWithParam<Wanted> {
 protected:
  const Case case_ = registry().parse_case("bias_gelu:" + GetParam().fields);
  const Op& op_ = registry().named("bias_gelu");
  const Inputs inputs_{op_, case_, GetParam().seed};
  const TensorSpec& output_ = inputs_.specs.back();
  const Reference reference_ = op_.oracle(case_, inputs_.views, 1).front();
};

TEST_P(ElementRuns, SayWhatTheWholeOracleSays) {
  for (const int32_t kind : {ASSAY_EXP_NONE, ASSAY_EXP_ACCURATE, ASSAY_EXP_FAST, ASSAY_EXP_BASE2}) {
    Contract contract = with_exp(ASSAY_ACC_F32, kind);
    if (kind == ASSAY_EXP_FAST) contract.arithmetic.intermediate = ASSAY_ACC_BF16;
    if (kind == ASSAY_EXP_BASE2) contract.arithmetic.flushes_subnormals = 1;
    const Bounds bounds = op_.bounds(case_, contract, reference_);
    const auto oracle = op_.element_oracle(case_, contract, inputs_.views);
    ElementOracle::Run run;
    for (int64_t first = 0, count = 1; first < output_.elements(); first += count) {
      count = std::min({(first * 7) % ElementOracle::kMost + 1, ElementOracle::kMost, output_.elements() - first});
      oracle->compute(first, count, run);
      const auto same = [&](const double* got, const std::vector<double>& want) {
        return std::memcmp(got, want.data() + first, static_cast<size_t>(count) * sizeof(double)) == 0;
      };
      ASSERT_TRUE(same(run.hi, reference_.hi)) << first;
      ASSERT_TRUE(same(run.lo, reference_.lo)) << first;
      ASSERT_TRUE(same(run.e_ref, reference_.e_ref)) << first;
      ASSERT_TRUE(same(run.e_alg, bounds.e_alg)) << first << " exp " << kind;
      ASSERT_TRUE(std::equal(run.evidence, run.evidence + count, bounds.evidence.begin() + first)) << first;
    }
  }
}

TEST_P(ElementRuns, JudgeAsTheWholeJudgeDoes) {
  std::mt19937_64 random(20);
  TruthBuilder whole, by_chunks(true);
  whole.add(reference_);
  by_chunks.add(reference_);
  const Truth truth = whole.finish(), truth_by_chunks = by_chunks.finish();
  for (const double share_wrong : {0.0, 0.0005, 0.2}) {
    const std::vector<std::byte> got = nearly(output_, reference_, share_wrong, random);
    for (const int32_t policy : {ASSAY_NAN_PROPAGATES, ASSAY_NAN_UNSPECIFIED}) {
      for (const int32_t kind : {ASSAY_EXP_NONE, ASSAY_EXP_BASE2}) {
        Contract contract = with_exp(output_.dtype == DType::f64 ? ASSAY_ACC_F64 : ASSAY_ACC_F32, kind);
        contract.nan_policy = policy;
        const ErrorSummary want =
            judge_accuracy(output_, got.data(), reference_, op_.bounds(case_, contract, reference_), contract);
        const auto oracle = op_.element_oracle(case_, contract, inputs_.views);
        for (const int threads : {1, 3}) {
          TruthBuilder builder;
          EXPECT_EQ(text(judge_runs(output_, got.data(), *oracle, contract, threads, builder)), text(want))
              << share_wrong;
          EXPECT_EQ(builder.finish(), truth);
        }
        TruthBuilder alone;
        add_truth_of_runs(output_, *oracle, 2, alone);
        EXPECT_EQ(alone.finish(), truth);

        // As part of a sweep: by chunks.
        TruthBuilder judged(true), runs_alone(true);
        std::vector<uint64_t> digests;
        EXPECT_EQ(text(judge_runs(output_, got.data(), *oracle, contract, 2, judged, &digests)), text(want));
        EXPECT_EQ(hash_of_chunks(digests, 9), hash_elements_by_chunks(output_, got.data(), 9));
        EXPECT_EQ(judged.finish(), truth_by_chunks);
        add_truth_of_runs(output_, *oracle, 3, runs_alone);
        EXPECT_EQ(runs_alone.finish(), truth_by_chunks);
      }
    }
  }
}

// Of the sweep, parts with subnormal, tiny, ordinary, saturated, huge and non-finite inputs of either sign.
std::vector<Wanted> wanted() {
  std::vector<Wanted> all;
  for (const char* form : {"form=erf", "form=tanh"}) {
    for (const uint64_t seed :
         {1u, 5u, 900u, 992u, 1012u, 1016u, 1020u, 1024u, 1041u, 2040u, 2041u, 2044u, 3068u, 4089u}) {
      all.push_back({std::string("rows=64,cols=1024,dtype=f32,fill=every,") + form, 16 * seed});
    }
    for (const char* shape : {"rows=3,cols=700", "rows=1,cols=1", "rows=37,cols=111", "rows=0,cols=4"}) {
      for (const char* fill : {"normal", "tails", "special", "huge", "zeros", "subnormal"}) {
        for (const char* type : {"f32", "f16", "bf16", "f64"}) {
          all.push_back({std::string(shape) + ",dtype=" + type + ",fill=" + fill + "," + form, 3});
        }
      }
    }
    for (const char* type : {"f16", "bf16"}) {
      all.push_back({std::string("rows=64,cols=1024,fill=every,dtype=") + type + "," + form, 1});
    }
  }
  return all;
}
INSTANTIATE_TEST_SUITE_P(Gelu, ElementRuns, ::testing::ValuesIn(wanted()));

TEST(ElementRunsAlone, OneWrongElementOfAllIsFoundAndNamed) {
  const Case c = registry().parse_case("bias_gelu:rows=64,cols=1024,form=erf,dtype=f32,fill=every");
  const Op& op = registry().named("bias_gelu");
  const Inputs inputs(op, c, 1016 * 16 + 5);  // from 1.03 on
  const TensorSpec& output = inputs.specs.back();
  const Reference reference = op.oracle(c, inputs.views, 1).front();
  const Contract contract = with_exp(ASSAY_ACC_F32, ASSAY_EXP_NONE);
  const auto oracle = op.element_oracle(c, contract, inputs.views);
  std::mt19937_64 random(21);
  std::vector<std::byte> got = nearly(output, reference, 0, random);
  for (int draw = 0; draw < 200; ++draw) {
    const auto at = static_cast<int64_t>(random() % 65536);
    const uint64_t right = load_bits(DType::f32, got.data(), at);
    store_bits(DType::f32, got.data(), at, right + 16);
    TruthBuilder truth;
    const ErrorSummary found = judge_runs(output, got.data(), *oracle, contract, 2, truth);
    EXPECT_EQ(found.failures, 1);
    EXPECT_EQ(found.worst_index, at);
    store_bits(DType::f32, got.data(), at, right);
  }
}

TEST(ElementRunsAlone, AnOutputWithPaddingIsRefused) {
  const Case c = registry().parse_case("bias_gelu:rows=2,cols=8,pad=3,form=erf,dtype=f32");
  const Op& op = registry().named("bias_gelu");
  const Inputs inputs(op, c);
  TruthBuilder truth;
  EXPECT_THROW(add_truth_of_runs(inputs.specs.back(), *op.element_oracle(c, Contract{}, inputs.views), 1, truth),
               Error);
}

// Parts judged one by one and put together are the whole, but for the rounding of means.
TEST(ElementRunsAlone, PartsComeToTheWhole) {
  const Op& op = registry().named("bias_gelu");
  const Case all = registry().parse_case("bias_gelu:rows=64,cols=1024,form=tanh,dtype=bf16,fill=every");
  const Case piece = all.with({{"rows", "4"}, {"seeds", "16"}});
  const Contract contract = with_exp(ASSAY_ACC_F32, ASSAY_EXP_NONE);
  std::mt19937_64 random(22);
  const Inputs inputs(op, all);
  const Reference reference = op.oracle(all, inputs.views, 1).front();
  for (const double share_wrong : {0.0, 0.001}) {
    const std::vector<std::byte> got = nearly(inputs.specs.back(), reference, share_wrong, random);
    TruthBuilder of_all, of_parts;
    const ErrorSummary whole = judge_runs(inputs.specs.back(), got.data(),
                                          *op.element_oracle(all, contract, inputs.views), contract, 1, of_all);
    ErrorSummary sum;
    for (uint64_t part = 0; part < 16; ++part) {
      const Inputs some(op, piece, 1 + part);
      const ErrorSummary found = judge_runs(some.specs.back(), got.data() + part * 4096 * 2,
                                            *op.element_oracle(piece, contract, some.views), contract, 1, of_parts);
      part == 0 ? sum = found : (append(sum, found), sum);
    }
    EXPECT_EQ(of_parts.finish(), of_all.finish());
    for (double ErrorSummary::*mean : {&ErrorSummary::rms_q, &ErrorSummary::mean_signed_q, &ErrorSummary::misrounded,
                                       &ErrorSummary::mean_signed_ulps}) {
      EXPECT_NEAR(sum.*mean, whole.*mean, 1e-12 * std::fabs(whole.*mean) + 1e-300);
      sum.*mean = whole.*mean;
    }
    EXPECT_EQ(text(sum), text(whole));
  }
}

// A unary function is asked about every number that a float or a half can be, by cases of its own tiers.
TEST(Sweeps, EveryElementwiseOpHasThemAndTheyAreWhole) {
  int ops = 0;
  for (const auto& op : registry().all()) {
    if (op->elementwise_input().empty()) continue;
    ++ops;
    for (const auto& [tier, type] : {std::pair{Tier::ci, "f16"}, {Tier::ci, "bf16"}, {Tier::nightly, "f32"}}) {
      int found = 0;
      for (const Case& c : op->cases(tier)) {
        const std::vector<TensorSpec> tensors = op->tensors(c);
        if (!is_sweep(tensors) || c.word("dtype") != type) continue;
        ++found;
        EXPECT_EQ(c.integer("seed"), 1) << c.id();
        for (const TensorSpec& t : tensors) {
          if (t.name != op->elementwise_input()) continue;
          EXPECT_EQ(t.fill.generator, "every");
          EXPECT_EQ(t.elements() * c.integer("seeds"), int64_t{1} << 8 * size_of(t.dtype)) << c.id();
        }
      }
      EXPECT_GT(found, 0) << op->name() << " " << type;
    }
  }
  EXPECT_GT(ops, 0);
}

}  // namespace
}  // namespace assay
