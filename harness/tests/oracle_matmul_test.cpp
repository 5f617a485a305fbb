// The matmul oracle: MPFR confirms values whatever the strides; products summed in any order never fail; axes, strides
// and broadcasts mixed up fail on a case of the smoke tier.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "core/error.h"
#include "mpfr_value.h"
#include "oracle_problem.h"
#include "oracle_suite.h"

namespace assay {
namespace {

using namespace testing;

const Op& matmul() { return registry().named("matmul"); }

enum class Fault { none, ignores_layout, ignores_pad, no_broadcast, first_entry, drops_last, half_sums };

// Elements by what the case says of memory, said another way than the op does: the offset of an element counts the
// elements before it in memory.
struct Operands {
  explicit Operands(const Case& c, Fault which = Fault::none) : problem(matmul(), c), fault(which) {
    const char* names[] = {"b1", "b2", "b3"};
    for (int64_t i = 0; i < std::stoi(c.word("rank")) - 2; ++i) batch.push_back(c.integer(names[i]));
  }

  double at(size_t tensor, std::vector<int64_t> index) const {
    const Case& c = problem.c;
    std::vector<int64_t> lengths = batch;
    const bool is_a = tensor == 0;
    lengths.push_back(c.integer(is_a ? "m" : "k"));
    lengths.push_back(c.integer(is_a ? "k" : "n"));
    const std::string& broadcast = c.word(is_a ? "broadcast_a" : "broadcast_b");
    for (size_t i = 0; i < batch.size(); ++i) {
      const bool is_one =
          broadcast == "all" || (broadcast == "first" && i == 0) || (broadcast == "last" && i + 1 == batch.size());
      if (is_one && fault != Fault::no_broadcast) lengths[i] = 1;
      if (lengths[i] == 1 || fault == Fault::first_entry) index[i] = 0;
    }
    const std::string& layout = c.word(is_a ? "la" : "lb");
    const size_t rank = lengths.size();
    const auto swap = [&](size_t x, size_t y) {
      std::swap(lengths[x], lengths[y]);
      std::swap(index[x], index[y]);
    };
    if (fault != Fault::ignores_layout) {
      if (layout == "t") swap(rank - 1, rank - 2);
      if (layout == "h") swap(rank - 2, rank - 3);
      if (layout == "r") {
        std::reverse(lengths.begin(), lengths.end());
        std::reverse(index.begin(), index.end());
      }
    }
    int64_t offset = 0;
    for (size_t i = 0; i < rank; ++i) {
      const int64_t pad = i + 1 == rank && fault != Fault::ignores_pad ? c.integer(is_a ? "pad_a" : "pad_b") : 0;
      offset = offset * (lengths[i] + pad) + index[i];
    }
    const TensorSpec& spec = problem.specs[tensor];
    return offset < spec.span_elements() ? load(spec.dtype, problem.storage[tensor].data(), offset) : 0;
  }

  // Factors of the output's logical element.
  std::vector<std::pair<double, double>> products(int64_t element) const {
    const std::vector<int64_t>& shape = problem.specs[2].shape;
    std::vector<int64_t> place(shape.size());
    for (size_t axis = shape.size(); axis-- > 0; element /= shape[axis]) place[axis] = element % shape[axis];
    std::vector<std::pair<double, double>> all;
    const size_t row = shape.size() - 2, column = shape.size() - 1;
    for (int64_t p = 0; p < problem.c.integer("k") - (fault == Fault::drops_last); ++p) {
      std::vector<int64_t> of_a = place, of_b = place;
      of_a[column] = p;
      of_b[row] = p;
      all.emplace_back(at(0, of_a), at(1, of_b));
    }
    return all;
  }

  Problem problem;
  Fault fault;
  std::vector<int64_t> batch;
};

float sum(const std::vector<std::pair<double, double>>& products, int order, Fault fault) {
  float lanes[4] = {};
  for (size_t i = 0; i < products.size(); ++i) {
    const auto& [a, b] = products[order == 1 ? products.size() - 1 - i : i];
    float& lane = lanes[order == 2 ? i % 4 : 0];
    const auto x = static_cast<float>(a), y = static_cast<float>(b);
    lane = order == 3 ? std::fma(x, y, lane) : lane + x * y;
    if (fault == Fault::half_sums) lane = static_cast<float>(round_to(DType::bf16, lane));
  }
  return (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]);
}

ErrorSummary run(const Operands& operands, const Reference& reference, int order) {
  return operands.problem.judge(reference, plain_contract(ASSAY_ACC_F32, 0, 0), [&](int64_t element) {
    return sum(operands.products(element), order, operands.fault);
  });
}

Case random_case(std::mt19937_64& random) {
  const auto pick = [&](const std::vector<std::string>& from) { return from[random() % from.size()]; };
  const auto rank = static_cast<int64_t>(2 + random() % 4);
  std::vector<std::pair<std::string, std::string>> given{{"rank", std::to_string(rank)}};
  const char* axes[] = {"b1", "b2", "b3"};
  for (int64_t i = 0; i < rank - 2; ++i) given.emplace_back(axes[i], std::to_string(1 + random() % 3));
  for (const char* name : {"m", "n"}) given.emplace_back(name, std::to_string(1 + random() % 5));
  given.emplace_back("k", std::to_string(random() % (random() % 6 == 0 ? 200 : 20)));
  for (const char* name : {"la", "lb", "lc"}) {
    given.emplace_back(name, rank > 2 ? pick({"n", "t", "h", "r"}) : pick({"n", "t", "r"}));
  }
  given.emplace_back(random() % 2 == 0 ? "broadcast_a" : "broadcast_b", pick({"none", "first", "last", "all"}));
  for (const char* name : {"pad_a", "pad_b", "pad_c"}) given.emplace_back(name, std::to_string(random() % 3));
  given.emplace_back("dtype", pick({"f32", "bf16", "f16"}));
  given.emplace_back("fill", pick({"normal", "uniform", "cancelling", "scaled", "huge", "ones", "integers",
                                   "signed_zeros", "subnormal", "special", "nan_one"}));
  given.emplace_back("seed", std::to_string(1 + random() % 100000));
  return matmul().make(given);
}

TEST(MatmulOracle, MpfrConfirmsValueAndBound) {
  const uint64_t seed = 4717;
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  int64_t elements = 0;
  for (int trial = 0; trial < 200; ++trial) {
    const Operands operands(random_case(random));
    const Reference r = operands.problem.oracle()[0];
    for (size_t i = 0; i < r.size(); ++i) {
      if (!std::isfinite(r.hi[i]) || !std::isfinite(r.e_ref[i])) continue;
      Big exact;
      for (const auto& [a, b] : operands.products(static_cast<int64_t>(i))) exact = exact + Big(a) * Big(b);
      const Big off = (exact - Big(DoubleDouble(r.hi[i], r.lo[i]))).abs();
      ASSERT_FALSE(Big(r.e_ref[i]) < off) << operands.problem.c.id() << " " << i;
      ++elements;
    }
  }
  EXPECT_GT(elements, 4000);
}

TEST(MatmulBounds, CorrectImplementationsNeverFail) {
  const uint64_t seed = 4718;
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  int64_t elements = 0;
  double max_q = 0;
  for (int trial = 0; trial < 800; ++trial) {
    const Operands operands(random_case(random));
    const Reference reference = operands.problem.oracle()[0];
    for (int order = 0; order < 4; ++order) {
      const ErrorSummary s = run(operands, reference, order);
      ASSERT_EQ(s.failures, 0) << operands.problem.c.id() << " order " << order << ": element " << s.worst_index
                               << " got " << s.worst_got << ", want " << s.worst_want << " +- " << s.worst_bound;
      elements += s.elements;
      if (operands.problem.c.word("fill") == "normal" && operands.problem.c.word("dtype") == "f32") {
        max_q = std::max(max_q, s.max_q);
      }
    }
  }
  EXPECT_GT(elements, 80000);
  EXPECT_GT(max_q, 0.2) << "a bound this loose finds little";
}

TEST(MatmulBounds, FaultsFailOnTheSmokeTier) {
  for (const Fault fault : {Fault::none, Fault::ignores_layout, Fault::ignores_pad, Fault::no_broadcast,
                            Fault::first_entry, Fault::drops_last, Fault::half_sums}) {
    int64_t failures = 0;
    for (const Case& c : matmul().cases(Tier::smoke)) {
      const Operands operands(c, fault);
      failures += run(operands, operands.problem.oracle()[0], 0).failures;
    }
    EXPECT_EQ(failures > 0, fault != Fault::none) << "fault " << static_cast<int>(fault);
  }
}

TEST(MatmulCases, TiersNestAndProveSomething) {
  const auto smoke = matmul().cases(Tier::smoke), ci = matmul().cases(Tier::ci),
             nightly = matmul().cases(Tier::nightly);
  EXPECT_GE(smoke.size(), 8u);
  EXPECT_GE(ci.size(), 60u);
  EXPECT_GE(nightly.size(), 2 * ci.size());
  for (const Case& c : smoke) EXPECT_EQ(std::count(ci.begin(), ci.end(), c), 1) << c.id();
  for (const Case& c : ci) EXPECT_EQ(std::count(nightly.begin(), nightly.end(), c), 1) << c.id();
  EXPECT_EQ(testing::mistrusted(matmul(), nightly), std::vector<std::string>{});
}

TEST(MatmulCases, FieldsThatDoNotGoTogetherAreRefusedWithARemedy) {
  const auto refusal = [](const char* id) -> std::string {
    try {
      matmul().tensors(registry().parse_case(id));
    } catch (const UsageError& e) {
      return e.what();
    }
    return "accepted";
  };
  EXPECT_NE(refusal("matmul:rank=6,m=2,n=2,k=2,dtype=f32").find("rank"), std::string::npos);
  EXPECT_NE(refusal("matmul:rank=2,b1=3,m=2,n=2,k=2,dtype=f32").find("give rank=3"), std::string::npos);
  EXPECT_NE(refusal("matmul:rank=2,m=2,n=2,k=2,la=h,dtype=f32").find("needs a batch axis"), std::string::npos);
  EXPECT_NE(refusal("matmul:rank=3,b1=3,m=2,n=2,k=2,broadcast_a=all,broadcast_b=first,dtype=f32").find("one of them"),
            std::string::npos);
}

}  // namespace
}  // namespace assay
