// Products of integers verified by Freivalds: exact products pass with the oracle's own summary, whatever the layout;
// every single bit that changes a value is found and located; what is no integer or not known to be exact is said.
#include "check/freivalds.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "check/residue.h"
#include "core/error.h"
#include "core/matrix_product.h"
#include "gemm_matrices.h"

namespace assay {
namespace {

using namespace testing;

const MatrixProductOp& product_op() { return dynamic_cast<const MatrixProductOp&>(gemm_op()); }

Contract contract_in(int32_t accumulator) { return plain_contract(accumulator, 1, 64); }

// A gemm with its inputs, and the output as an exact kernel leaves it.
struct Solved {
  explicit Solved(const Case& c) : problem(gemm_op(), c), spec(problem.specs[2]) {
    const Matrices x(problem);
    got = problem.storage[2];  // padding stays what it was
    const int64_t depth = x.alpha != 0 ? x.k : 0;
    for (int64_t row = 0; row < c.integer("batch") * x.m; ++row) {
      for (int64_t j = 0; j < x.n; ++j) {
        const int64_t e = row / x.m, i = row % x.m;
        __int128 sum = 0;
        for (int64_t p = 0; p < depth; ++p) {
          sum += static_cast<__int128>(x.a(e, i, p)) * static_cast<__int128>(x.b(e, p, j));
        }
        sum *= static_cast<__int128>(x.alpha);
        if (x.beta != 0) sum += static_cast<__int128>(x.beta) * static_cast<__int128>(x.c(e, i, j));
        put(row * x.n + j, static_cast<double>(sum));
      }
    }
  }

  void put(int64_t i, double value) { put_bits(i, encode(spec.dtype, value)); }
  void put_bits(int64_t i, uint64_t bits) { store_bits(spec.dtype, got.data(), offset_of(spec, i), bits); }
  uint64_t bits(int64_t i) const { return load_bits(spec.dtype, got.data(), offset_of(spec, i)); }
  double value(int64_t i) const { return decode(spec.dtype, bits(i)); }

  Freivalds freivalds(uint64_t seed = 1, int threads = 2) const {
    std::vector<const void*> data;
    for (const auto& bytes : problem.storage) data.push_back(bytes.data());
    return {product_op(), problem.c, problem.specs, data, seed, make_host_passes(threads)};
  }
  ErrorSummary judge(const Contract& contract) const { return freivalds().judge(got.data(), contract); }
  std::string refusal(const Contract& contract) const { return freivalds().refusal(contract); }

  Problem problem;
  const TensorSpec& spec;
  std::vector<std::byte> got;
};

void expect_wrong(const ErrorSummary& summary, int64_t index, double got, double want, const std::string& what) {
  EXPECT_EQ(summary.failures, 1) << what;
  EXPECT_EQ(summary.worst_index, index) << what;
  EXPECT_EQ(std::bit_cast<uint64_t>(summary.worst_got), std::bit_cast<uint64_t>(got)) << what;
  EXPECT_EQ(summary.worst_want, want) << what;
  EXPECT_EQ(summary.worst_bound, 0) << what;
}

TEST(Residue, ArithmeticIsThatOfIntegersModuloP) {
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  using Wide = unsigned __int128;
  constexpr Wide p = residue::kModulus;
  std::vector<uint64_t> words{
      0, 1, 2, residue::kModulus - 1, residue::kModulus, residue::kModulus + 1, uint64_t{1} << 61, ~uint64_t{0}};
  for (int i = 0; i < 200; ++i) words.push_back(random() >> random() % 64);
  for (const uint64_t x : words) {
    EXPECT_EQ(residue::of_bits(x), static_cast<uint64_t>(x % p));
    const auto integer = static_cast<int64_t>(x);
    const __int128 remainder = static_cast<__int128>(integer) % static_cast<__int128>(p);
    EXPECT_EQ(residue::of_integer(integer),
              static_cast<uint64_t>(remainder < 0 ? remainder + static_cast<__int128>(p) : remainder));
    for (const uint64_t y : words) {
      const uint64_t a = residue::of_bits(x), b = residue::of_bits(y);
      EXPECT_EQ(residue::add(a, b), static_cast<uint64_t>((Wide{a} + b) % p));
      EXPECT_EQ(residue::multiply(a, b), static_cast<uint64_t>(Wide{a} * b % p));
      residue::HalfSums sum;
      for (const uint64_t part : {x, y, x}) sum.add(part);
      const Wide exact = Wide{x} + y + x;
      EXPECT_EQ(residue::of_sum(sum), static_cast<uint64_t>(exact % p));
      const double up = residue::rounded_up(sum);
      EXPECT_GE(static_cast<Wide>(up), exact);
      EXPECT_LT(static_cast<Wide>(std::nextafter(up, 0)), exact == 0 ? 1 : exact);
    }
  }
}

// The types of gemm, with what is declared of sums in each.
struct Type {
  const char* fields;
  int32_t accumulator;
};
constexpr Type kTypes[] = {{",dtype=f64", ASSAY_ACC_F64},          {",dtype=f32", ASSAY_ACC_F32},
                           {",dtype=f16", ASSAY_ACC_F32},          {",dtype=bf16", ASSAY_ACC_F32},
                           {",out=f32,dtype=e4m3", ASSAY_ACC_F32}, {",out=f16,dtype=e4m3", ASSAY_ACC_F32},
                           {",out=bf16,dtype=e4m3", ASSAY_ACC_F32}};

TEST(Freivalds, ExactProductsOfAnyShapeAndLayoutPassAsTheOracleSays) {
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  const auto below = [&](uint64_t end) { return static_cast<int64_t>(random() % end); };
  int verified = 0;
  for (int trial = 0; trial < 600; ++trial) {
    const Type& type = kTypes[below(std::size(kTypes))];
    const char* const fills[] = {"sparse", "sparse", "integers", "ones", "onehot", "identity", "index"};
    const char* const scalars[] = {"1", "0", "-1", "3", "2"};
    std::string fields = "m=" + std::to_string(below(20)) + ",n=" + std::to_string(below(70)) +
                         ",k=" + std::to_string(below(40)) + ",batch=" + std::to_string(1 + below(3) % 2);
    for (const char* pad : {"a", "b", "c"}) fields += ",pad_" + std::string(pad) + "=" + std::to_string(below(3));
    fields += std::string(",ta=") + (below(2) ? "t" : "n") + ",tb=" + (below(2) ? "t" : "n");
    fields += std::string(",alpha=") + scalars[below(5)] + ",beta=" + scalars[below(5)];
    fields += type.fields + std::string(",fill=") + fills[below(7)] + ",seed=" + std::to_string(1 + below(1000));
    const Case c = gemm_case(fields);
    const Solved solved(c);
    const Contract contract = contract_in(type.accumulator);
    if (!solved.refusal(contract).empty()) continue;
    ++verified;
    const ErrorSummary summary = solved.judge(contract);
    EXPECT_EQ(summary.failures, 0) << c.id();
    const Reference reference = solved.problem.oracle()[0];
    EXPECT_EQ(summary, judge_accuracy(solved.spec, solved.got.data(), reference,
                                      gemm_op().bounds(c, contract, reference), contract))
        << c.id();
  }
  EXPECT_GT(verified, 200);
}

TEST(Freivalds, EveryBitThatChangesAValueIsFoundAndLocated) {
  for (const Type& type : kTypes) {
    for (const char* layout : {"", ",ta=t,pad_c=3", ",tb=t,alpha=3,beta=-2", ",ta=t,tb=t,batch=3,beta=1"}) {
      const Case c = gemm_case("m=13,n=37,k=29,fill=sparse" + std::string(layout) + type.fields);
      Solved solved(c);
      const Contract contract = contract_in(type.accumulator);
      Freivalds freivalds = solved.freivalds();
      ASSERT_EQ(freivalds.refusal(contract), "") << c.id();
      const int64_t elements = solved.spec.elements();
      int flipped = 0;
      for (const int64_t at : {int64_t{0}, int64_t{36}, int64_t{37}, elements / 2, elements / 3, elements - 1}) {
        for (size_t bit = 0; bit < 8 * size_of(solved.spec.dtype); ++bit) {
          const uint64_t right = solved.bits(at);
          const double want = solved.value(at);
          solved.put_bits(at, right ^ uint64_t{1} << bit);
          const double got = solved.value(at);
          const ErrorSummary summary = freivalds.judge(solved.got.data(), contract);
          const std::string what = c.id() + " element " + std::to_string(at) + " bit " + std::to_string(bit);
          if (got == want) {
            EXPECT_EQ(summary.failures, 0) << what;  // the sign of a zero
          } else {
            ++flipped;
            expect_wrong(summary, at, got, want, what);
            EXPECT_EQ(freivalds.wrong_rows(), 1) << what;
          }
          solved.put_bits(at, right);
        }
      }
      EXPECT_GT(flipped, 5 * static_cast<int>(size_of(solved.spec.dtype)));
      EXPECT_EQ(freivalds.judge(solved.got.data(), contract).failures, 0);
    }
  }
}

// Errors that cancel in sums along rows or columns, or in both.
TEST(Freivalds, ErrorsThatCancelEachOtherAreFound) {
  Solved solved(gemm_case("m=13,n=37,k=29,dtype=f32,fill=integers"));
  const Contract contract = contract_in(ASSAY_ACC_F32);
  const double at_3 = solved.value(3), at_5 = solved.value(5);
  solved.put(3, at_3 + 1);
  solved.put(5, at_5 - 1);
  solved.put(3 + 2 * 37, solved.value(3 + 2 * 37) - 1);
  solved.put(5 + 2 * 37, solved.value(5 + 2 * 37) + 1);
  Freivalds freivalds = solved.freivalds();
  const ErrorSummary summary = freivalds.judge(solved.got.data(), contract);
  EXPECT_EQ(freivalds.wrong_rows(), 2);
  EXPECT_EQ(summary.failures, 3);  // at least: two in the first row, and a row more
  EXPECT_EQ(summary.worst_index, 3);
  EXPECT_EQ(summary.worst_got, at_3 + 1);
  EXPECT_EQ(summary.worst_want, at_3);
}

TEST(Freivalds, ATransposedOrEmptyAnswerIsWrong) {
  const Contract contract = contract_in(ASSAY_ACC_F32);
  Solved turned(gemm_case("m=23,n=23,k=17,dtype=f32,fill=integers"));
  const std::vector<std::byte> right = turned.got;
  for (int64_t i = 0; i < 23; ++i) {
    for (int64_t j = 0; j < 23; ++j) turned.put_bits(i * 23 + j, load_bits(DType::f32, right.data(), j * 23 + i));
  }
  EXPECT_EQ(turned.freivalds().judge(right.data(), contract).failures, 0);
  EXPECT_GT(turned.judge(contract).failures, 22);
  for (int64_t i = 0; i < turned.spec.elements(); ++i) turned.put(i, 0);
  EXPECT_GT(turned.judge(contract).failures, 22);
}

TEST(Freivalds, WhatIsNoIntegerWithinTheBoundIsFound) {
  for (const Type& type : kTypes) {
    Solved solved(gemm_case("m=13,n=37,k=29,pad_c=5,fill=sparse" + std::string(type.fields)));
    const Contract contract = contract_in(type.accumulator);
    const double infinity = std::numeric_limits<double>::infinity();
    for (const double other :
         {std::numeric_limits<double>::quiet_NaN(), infinity, -infinity, 0.5, 1.5, 65.0, 128.0,
          smallest_subnormal(solved.spec.dtype), largest_finite(solved.spec.dtype), lowest(solved.spec.dtype)}) {
      for (const int64_t at : {int64_t{0}, int64_t{100}, int64_t{13 * 37 - 1}}) {
        const double want = solved.value(at);
        solved.put(at, other);
        expect_wrong(solved.judge(contract), at, solved.value(at), want, std::string(type.fields));
        solved.put(at, want);
      }
    }
    for (int64_t i = 0; i < solved.spec.elements(); ++i) solved.put(i, infinity);
    EXPECT_EQ(solved.judge(contract).failures, solved.spec.elements());
  }
}

// NaN in the first row where a zero is due leaves the residual of the row as it is.
TEST(Freivalds, ANanForAZeroIsFound) {
  const Contract contract = contract_in(ASSAY_ACC_F32);
  Solved solved(gemm_case("m=5,n=64,k=64,dtype=f32,fill=sparse"));
  for (int64_t i = 0; i < solved.spec.elements(); ++i) {
    if (solved.value(i) != 0) continue;
    solved.put(i, std::numeric_limits<double>::quiet_NaN());
    expect_wrong(solved.judge(contract), i, solved.value(i), 0, "element " + std::to_string(i));
    solved.put(i, 0);
  }
}

TEST(Freivalds, NothingToComputeIsVerifiedToo) {
  const Contract contract = contract_in(ASSAY_ACC_F32);
  for (const char* fields : {"m=0,n=5,k=3", "m=5,n=0,k=3", "batch=0,m=5,n=4,k=3", "m=5,n=4,k=0", "m=5,n=4,k=0,beta=2",
                             "m=5,n=4,k=3,alpha=0", "m=5,n=4,k=3,alpha=0,beta=-3", "m=1,n=1,k=1"}) {
    Solved solved(gemm_case(std::string(fields) + ",dtype=f32,fill=integers"));
    const ErrorSummary summary = solved.judge(contract);
    EXPECT_EQ(summary.failures, 0) << fields;
    EXPECT_EQ(summary.exact, solved.spec.elements()) << fields;
    if (summary.elements == 0) continue;
    const double want = solved.value(summary.elements - 1);
    solved.put(summary.elements - 1, want + 1);
    expect_wrong(solved.judge(contract), summary.elements - 1, want + 1, want, fields);
  }
}

TEST(Freivalds, WhatIsNotKnownToBeExactIsRefused) {
  const auto why = [](const std::string& fields, const Contract& contract) {
    return Solved(gemm_case(fields)).refusal(contract);
  };
  const Contract f32 = contract_in(ASSAY_ACC_F32);
  EXPECT_EQ(why("m=5,n=7,k=9,dtype=f32", f32), "b holds 63 elements that are no integers within 2^53");
  EXPECT_EQ(why("m=5,n=7,k=9,alpha=0.5,dtype=f32,fill=integers", f32), "alpha = 0.5 is no integer");
  EXPECT_EQ(why("m=5,n=7,k=9,beta=1.5,dtype=f32,fill=integers", f32), "beta = 1.5 is no integer");
  // 16-bit outputs hold 2^8 and 2^11, f32 2^24.
  EXPECT_EQ(why("m=5,n=7,k=2,dtype=bf16,fill=integers", f32), "");
  const std::string too_large = why("m=5,n=7,k=40,dtype=bf16,fill=integers", f32);
  EXPECT_NE(too_large.find("more than is exact"), std::string::npos) << too_large;
  EXPECT_EQ(why("m=5,n=7,k=40,out=f32,dtype=e4m3,fill=integers", f32), "");
  EXPECT_NE(why("m=5,n=7,k=400,dtype=f16,fill=integers", f32), "");
  EXPECT_EQ(why("m=5,n=7,k=40000,dtype=f16,fill=sparse", f32), "");
  EXPECT_EQ(why("m=5,n=7,k=40000,dtype=bf16,fill=sparse", f32), "");
  EXPECT_NE(why("m=5,n=7,k=40000,alpha=30,dtype=bf16,fill=sparse", f32), "");
  EXPECT_NE(why("m=5,n=7,k=9,beta=2097152,dtype=f32,fill=integers", f32), "");  // 9 x 64 + 8 x 2^21
  EXPECT_EQ(why("m=5,n=7,k=9,beta=2097000,dtype=f32,fill=integers", f32), "");
  EXPECT_EQ(why("m=5,n=7,k=9,beta=16777217,dtype=f64,fill=integers", contract_in(ASSAY_ACC_F64)), "");
  // 1 + 8 x 2^50 is no double: what was rounded down to 2^53 does not count as that.
  EXPECT_NE(why("m=40,n=40,k=1,beta=1125899906842624,dtype=f64,fill=ones", contract_in(ASSAY_ACC_F64)), "");
  EXPECT_EQ(why("m=40,n=40,k=1,beta=1125899906842623,dtype=f64,fill=ones", contract_in(ASSAY_ACC_F64)), "");
  // What stands between the sums and the output counts as well.
  Contract narrow = f32;
  narrow.arithmetic.split_k = 4;
  narrow.arithmetic.partial_type = ASSAY_ACC_F16;
  EXPECT_NE(why("m=5,n=7,k=900,out=f16,dtype=e4m3,fill=integers", narrow), "");
  EXPECT_EQ(why("m=5,n=7,k=900,dtype=f16,fill=sparse", narrow), "");
  Solved refused(gemm_case("m=5,n=7,k=9,dtype=f32"));
  EXPECT_THROW(refused.judge(f32), Error);
}

// A matrix unit of 13 bits holds less than its f32 output.
TEST(Freivalds, WhatAMatrixUnitCutsIsRefused) {
  Contract unit = contract_in(ASSAY_ACC_TENSOR);
  unit.arithmetic.tensor_terms = 32;
  unit.arithmetic.tensor_fraction = 13;
  unit.arithmetic.tensor_precision = 13;
  EXPECT_NE(Solved(gemm_case("m=5,n=7,k=400,out=f32,dtype=e4m3,fill=integers")).refusal(unit), "");
  EXPECT_EQ(Solved(gemm_case("m=5,n=7,k=400,out=f32,dtype=e4m3,fill=sparse")).refusal(unit), "");
}

TEST(Freivalds, ThreadsAndSeedsChangeNoAnswer) {
  Solved solved(gemm_case("m=130,n=1100,k=70,ta=t,dtype=f32,fill=integers"));
  const Contract contract = contract_in(ASSAY_ACC_F32);
  const double want = solved.value(12345);
  for (const int threads : {1, 2, 7}) {
    for (const uint64_t seed : {1u, 2u, 3u}) {
      EXPECT_EQ(solved.freivalds(seed, threads).judge(solved.got.data(), contract).failures, 0);
      solved.put(12345, want + 1);
      expect_wrong(solved.freivalds(seed, threads).judge(solved.got.data(), contract), 12345, want + 1, want, "");
      solved.put(12345, want);
    }
  }
}

}  // namespace
}  // namespace assay
