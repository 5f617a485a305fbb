// bias_gelu, simd: y = gelu(x + bias), the bias added to every row. Highway SIMD; rows, cut into pieces where they are
// long, are shared out among threads.
#include "common/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "bias_gelu/simd.cpp"
#include "hwy/foreach_target.h"
//
#include <assay/kernel.h>

#include <cstddef>
#include <cstdint>

#include "bias_gelu/gelu-inl.h"
#include "common/half-inl.h"
#include "common/rows.h"
#include "common/stream-inl.h"
#include "hwy/highway.h"

#ifndef ASSAY_KERNELS_BIAS_GELU_SIMD  // once, not once a target
#define ASSAY_KERNELS_BIAS_GELU_SIMD
namespace assay::simd {

struct BiasGeluPieces {
  Element element;
  bool tanh;
  Rows<const void*> x, bias;
  Rows<void*> y;
  int64_t cols;
  int64_t piece;       // columns a piece, a multiple of every vector
  int64_t row_pieces;  // pieces a row
  bool stream;
};

inline constexpr int64_t kFetchAhead = 4096;  // bytes

}  // namespace assay::simd
#endif

HWY_BEFORE_NAMESPACE();
namespace assay::simd::HWY_NAMESPACE {

const char* bias_gelu_isa() { return hwy::TargetName(HWY_TARGET); }
const char* bias_gelu_float_algorithm() {
  return ASSAY_HAS_GELU_TABLE ? "tail by cubics of 31 intervals" : "odd polynomial, clamped";
}

template <class T>
struct Piece {
  const T* x;
  RowWriter<T>* writer;
};

// y = gelu(x + bias) for one piece or for two side by side: two places far apart in memory serve faster than one.
template <GeluForm kForm, size_t kPieces, class T>
HWY_INLINE void bias_gelu_side_by_side(const Piece<T> (&pieces)[kPieces], const T* bias, int64_t n) {
  const hn::ScalableTag<ComputeOf<T>> d;
  const int64_t two = 2 * static_cast<int64_t>(hn::Lanes(d));
  const auto activated = [d](auto x, auto b) HWY_ATTR {
    return each(d, x, b, [d](auto v, auto w) HWY_ATTR { return gelu<kForm>(d, hn::Add(v, w)); });
  };
  int64_t i = 0;
  for (; i + two <= n; i += two) {
    const auto b = load_pair(d, bias + i);
    for (const Piece<T>& piece : pieces) {
      fetch_pair(d, piece.x + i, kFetchAhead);
      piece.writer->put(activated(load_pair(d, piece.x + i), b));
    }
  }
  if (i == n) return;
  const auto count = static_cast<size_t>(n - i);
  const auto b = load_pair_n(d, bias + i, count);
  for (const Piece<T>& piece : pieces) piece.writer->put_n(activated(load_pair_n(d, piece.x + i, count), b), count);
}

template <class T, GeluForm kForm>
void bias_gelu_typed(const BiasGeluPieces& p, int64_t begin, int64_t end) {
  const auto* bias = static_cast<const T*>(p.bias.data);
  const auto x_of = [&p](int64_t row) { return static_cast<const T*>(p.x.data) + row * p.x.stride; };
  const auto y_of = [&p](int64_t row) { return static_cast<T*>(p.y.data) + row * p.y.stride; };
  RowWriter<T> writer(p.stream), other(p.stream);
  const auto one = [&](int64_t i) HWY_ATTR {
    const int64_t row = i / p.row_pieces, column = i % p.row_pieces * p.piece;
    const int64_t n = HWY_MIN(p.piece, p.cols - column);
    writer.begin_row(y_of(row) + column, n);
    bias_gelu_side_by_side<kForm>({{x_of(row) + column, &writer}}, bias + column, n);
  };
  // Whole rows of the first half and of the second; what is left over alone.
  int64_t row = (begin + p.row_pieces - 1) / p.row_pieces;
  const int64_t half = (end / p.row_pieces - row) / 2;
  for (int64_t i = begin; i < HWY_MIN(end, row * p.row_pieces); ++i) one(i);
  for (const int64_t rows_end = row + half; row < rows_end; ++row) {
    for (int64_t column = 0; column < p.cols; column += p.piece) {
      const int64_t n = HWY_MIN(p.piece, p.cols - column);
      writer.begin_row(y_of(row) + column, n);
      other.begin_row(y_of(row + half) + column, n);
      bias_gelu_side_by_side<kForm>({{x_of(row) + column, &writer}, {x_of(row + half) + column, &other}}, bias + column,
                                    n);
    }
  }
  if (half > 0) row += half;
  for (int64_t i = HWY_MAX(begin, row * p.row_pieces); i < end; ++i) one(i);
}

template <class T>
void bias_gelu_of(const BiasGeluPieces& p, int64_t begin, int64_t end) {
  if (begin == end) return;
  p.tanh ? bias_gelu_typed<T, GeluForm::tanh>(p, begin, end) : bias_gelu_typed<T, GeluForm::erf>(p, begin, end);
}

void bias_gelu_pieces(const BiasGeluPieces& p, int64_t begin, int64_t end) {
  switch (p.element) {
    case Element::f64:
      return bias_gelu_of<double>(p, begin, end);
    case Element::f32:
      return bias_gelu_of<float>(p, begin, end);
    case Element::f16:
      return bias_gelu_of<f16>(p, begin, end);
    case Element::bf16:
      return bias_gelu_of<bf16>(p, begin, end);
  }
}

}  // namespace assay::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::simd {
namespace {

HWY_EXPORT(bias_gelu_pieces);
HWY_EXPORT(bias_gelu_isa);
HWY_EXPORT(bias_gelu_float_algorithm);

constexpr int64_t kPiece = 8192;

struct Plan {
  BiasGeluPieces pieces;
  int64_t count;
  int threads;
};

Plan plan_of(const Call& c) {
  Plan plan{};
  BiasGeluPieces& p = plan.pieces;
  p.element = element_of(c, "x");
  p.tanh = c.word("form") == "tanh";
  p.x = rows_of<const void*>(c, "x", p.element);
  p.bias = rows_of<const void*>(c, "bias", p.element);
  p.y = rows_of<void*>(c, "y", p.element);
  p.cols = c.axis("cols");
  p.piece = kPiece;
  p.row_pieces = (p.cols + kPiece - 1) / kPiece;
  plan.count = c.axis("rows") * p.row_pieces;
  const int64_t bytes = c.axis("rows") * p.cols * bytes_of(p.element);
  plan.threads = useful_threads(c.threads(), plan.count, 2 * bytes);
  p.stream = bytes >= kBytesWorthStreaming;
  return plan;
}

const char* refuse(const Call& c) {
  plan_of(c);
  return nullptr;
}

const char* launch(const Call& c) {
  const Plan plan = plan_of(c);
  const auto pieces = &HWY_DYNAMIC_DISPATCH(bias_gelu_pieces);
  parallel_ranges(plan.count, plan.threads, [&](int, int64_t begin, int64_t end) { pieces(plan.pieces, begin, end); });
  return nullptr;
}

void describe(const Call& c, const Describe& emit) {
  const bool wide = element_of(c, "x") == Element::f64;
  emit("algorithm", wide ? "tail through exp" : HWY_DYNAMIC_DISPATCH(bias_gelu_float_algorithm)());
  emit("isa", HWY_DYNAMIC_DISPATCH(bias_gelu_isa)());
  emit("reduction", "none");
}

constexpr assay_contract contract(int32_t accumulator, int32_t exp_kind) {
  return {.interface_version = 1,
          .owner = kOwner,
          .domain = "dtype in f64 f32 f16 bf16",
          .promises = kRowPromises,
          .arithmetic = {.accumulator = accumulator,
                         .depth_divisor = kRowDepthDivisor,
                         .depth_constant = 1,
                         .split_k = 1,
                         .partial_type = accumulator,
                         .exp_kind = exp_kind},
          .nan_policy = ASSAY_NAN_PROPAGATES};
}

const assay_contract* plan_contract(const Call& c) {
  static constexpr assay_contract kDouble = contract(ASSAY_ACC_F64, ASSAY_EXP_ACCURATE);
  return element_of(c, "x") == Element::f64 ? &kDouble : nullptr;
}

ASSAY_KERNEL(bias_gelu, simd, .target = "cpu", .refuse = refuse, .launch = launch, .describe = describe,
             .unavailable = assay::simd::no_sse4, .plan_contract = plan_contract,
             .contract = contract(ASSAY_ACC_F32, ASSAY_EXP_NONE))

}  // namespace
}  // namespace assay::simd
#endif
