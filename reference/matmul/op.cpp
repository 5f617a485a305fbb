// The matmul op: C[..., m, n] = A[..., m, k] B[..., k, n] over up to three batch axes, as oneDNN and array libraries
// have it: any axes may be permuted in memory, batch axes of A or B may have length 1 and count for every entry
// (broadcast), lines may be padded. The numbers themselves are gemm's, whose bound holds (reference/blas_products.h).
#include <algorithm>
#include <array>
#include <functional>
#include <numeric>

#include "core/error.h"
#include "reference/blas_products.h"
#include "reference/case_list.h"
#include "reference/math/caps.h"
#include "reference/matmul/cases.h"
#include "reference/product_fills.h"

namespace assay {
namespace matmul {
namespace {

constexpr size_t kA = 0, kB = 1, kC = 2;
constexpr size_t kMostBatchAxes = 3;
using Place = std::array<int64_t, kMostBatchAxes>;  // of an entry along the batch axes, the last ones of which count

int rank_of(const Case& c) { return c.word("rank")[0] - '0'; }
size_t batch_axes(const Case& c) { return static_cast<size_t>(rank_of(c) - 2); }

// Lengths of the batch axes, outermost first; broadcast: which of them have length 1 instead.
std::vector<int64_t> batch_of(const Case& c, const std::string& broadcast) {
  const std::vector<int64_t> all{c.integer("b1"), c.integer("b2"), c.integer("b3")};
  std::vector<int64_t> batch(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(batch_axes(c)));
  for (size_t i = 0; i < batch.size(); ++i) {
    const bool is_first = i == 0, is_last = i + 1 == batch.size();
    if (broadcast == "all" || (broadcast == "first" && is_first) || (broadcast == "last" && is_last)) batch[i] = 1;
  }
  return batch;
}

// Axes from the outermost in memory to the innermost.
std::vector<size_t> memory_order(const std::string& layout, size_t rank) {
  std::vector<size_t> order(rank);
  for (size_t i = 0; i < rank; ++i) order[i] = i;
  if (layout == "t") std::swap(order[rank - 1], order[rank - 2]);
  if (layout == "h") std::swap(order[rank - 2], order[rank - 3]);
  if (layout == "r") std::reverse(order.begin(), order.end());
  return order;
}

TensorSpec tensor_of(const Case& c, const char* name, std::vector<int64_t> shape, const char* layout, const char* pad,
                     FillSpec fill, int axis) {
  const size_t rank = shape.size();
  const std::string& word = c.word(layout);
  if (word == "h" && rank < 3) {
    throw UsageError("case of matmul: field '" + std::string(layout) + "' = 'h' needs a batch axis; give rank=3, or n");
  }
  const std::vector<size_t> order = memory_order(word, rank);
  std::vector<int64_t> strides(rank);
  int64_t stride = 1;
  for (size_t i = rank; i-- > 0;) {
    strides[order[i]] = stride;
    stride *= std::max<int64_t>(shape[order[i]], 1) + (i + 1 == rank ? c.integer(pad) : 0);
  }
  fill.axis = static_cast<int>(rank) + axis;
  return {.name = name,
          .dtype = dtype_named(c.word("dtype")).value(),
          .shape = std::move(shape),
          .strides = std::move(strides),
          .fill = fill};
}

// Elements of an operand by batch entry, row and column.
class Operand {
 public:
  explicit Operand(const TensorView& view) : view_(&view), rank_(view.spec->shape.size()) {}
  // Offset of the entry at `place` of the output's batch axes.
  int64_t entry(const Place& place) const {
    int64_t at = 0;
    for (size_t axis = 0; axis + 2 < rank_; ++axis) {
      if (view_->spec->shape[axis] > 1) at += place[axis] * view_->spec->strides[axis];
    }
    return at;
  }
  double at(int64_t entry, int64_t i, int64_t j) const {
    const std::vector<int64_t>& strides = view_->spec->strides;
    return load(view_->spec->dtype, view_->data, entry + i * strides[rank_ - 2] + j * strides[rank_ - 1]);
  }

 private:
  const TensorView* view_;
  size_t rank_;
};

class MatmulOp final : public Op {
 public:
  std::string_view name() const override { return "matmul"; }
  std::string_view summary() const override { return "c[..., m, n] = a[..., m, k] b[..., k, n], any strides"; }
  int oracle_version() const override { return 1; }

  std::vector<FieldSpec> fields() const override {
    const auto length = [](const char* name, const char* doc) {
      return FieldSpec{.name = name, .doc = doc, .fallback = "1"};
    };
    const auto layout = [](const char* name) {
      return FieldSpec{
          .name = name,
          .kind = FieldKind::word,
          .doc = "in memory: t: last two axes swapped; h: rows outside the last batch axis; r: all reversed",
          .fallback = "n",
          .choices = {"n", "t", "h", "r"}};
    };
    const auto broadcast = [](const char* name) {
      return FieldSpec{.name = name,
                       .kind = FieldKind::word,
                       .doc = "batch axes of length 1, which count for every entry",
                       .fallback = "none",
                       .choices = {"none", "first", "last", "all"}};
    };
    const auto pad = [](const char* name) {
      return FieldSpec{.name = name, .doc = "elements between lines in memory", .fallback = "0"};
    };
    return {{.name = "rank", .kind = FieldKind::word, .doc = "axes of each tensor", .choices = {"2", "3", "4", "5"}},
            length("b1", "first batch axis, from rank 3 on"),
            length("b2", "second batch axis, from rank 4 on"),
            length("b3", "third batch axis, of rank 5"),
            {.name = "m", .doc = "rows of c"},
            {.name = "n", .doc = "columns of c"},
            {.name = "k", .doc = "products summed"},
            layout("la"),
            layout("lb"),
            layout("lc"),
            broadcast("broadcast_a"),
            broadcast("broadcast_b"),
            pad("pad_a"),
            pad("pad_b"),
            pad("pad_c"),
            {.name = "dtype", .kind = FieldKind::word, .doc = "of every tensor", .choices = {"f32", "f16", "bf16"}}};
  }

  std::vector<Case> cases(Tier tier) const override { return matmul::cases(*this, tier); }

  std::vector<Case> device_cases(Tier tier) const override {
    return cases_of(*this, tier,
                    {{Tier::ci, "rank=3,b1=65537,m=3,n=5,k=2,dtype=bf16"},
                     {Tier::ci, "rank=2,m=17,n=24,k=40,pad_a=134217728,dtype=bf16"},
                     {Tier::nightly, "rank=2,m=46351,n=46349,k=8,dtype=bf16"}});
  }

  std::vector<TensorSpec> own_tensors(const Case& c) const override {
    const int64_t m = c.integer("m"), n = c.integer("n"), k = c.integer("k");
    require_axes(c);
    const ProductFills fills = product_fills(c.word("fill"), k);
    const auto shape = [&c](const std::string& broadcast, int64_t rows, int64_t columns) {
      std::vector<int64_t> all = batch_of(c, broadcast);
      all.insert(all.end(), {rows, columns});
      return all;
    };
    std::vector<TensorSpec> all{tensor_of(c, "a", shape(c.word("broadcast_a"), m, k), "la", "pad_a", fills.a, -1),
                                tensor_of(c, "b", shape(c.word("broadcast_b"), k, n), "lb", "pad_b", fills.b, -2),
                                tensor_of(c, "c", shape("none", m, n), "lc", "pad_c", {}, -1)};
    all[kC].role = Role::output;
    return all;
  }

  std::vector<Reference> oracle(const Case& c, std::span<const TensorView> tensors, int threads) const override {
    constexpr int64_t kWorthThreads = int64_t{1} << 16;  // products
    const int64_t m = c.integer("m"), n = c.integer("n"), k = c.integer("k");
    const std::vector<int64_t> batch = batch_of(c, "none");
    const int64_t entries = std::accumulate(batch.begin(), batch.end(), int64_t{1}, std::multiplies<>());
    const Operand a(tensors[kA]), b(tensors[kB]);
    Reference reference = blas::blank_reference(*tensors[kC].spec);
#pragma omp parallel for num_threads(threads) if (threads > 1 && entries * m * n * k > kWorthThreads)
    for (int64_t row = 0; row < entries * m; ++row) {
      Place place{};
      int64_t rest = row / m;
      for (size_t axis = batch.size(); axis-- > 0; rest /= batch[axis]) place[axis] = rest % batch[axis];
      const int64_t of_a = a.entry(place), of_b = b.entry(place);
      for (int64_t j = 0; j < n; ++j) {
        blas::ProductSum sum{{}};
        for (int64_t p = 0; p < k; ++p) sum.add({a.at(of_a, row % m, p), 0}, {b.at(of_b, p, j), 0});
        blas::store(reference, row * n + j, sum.finish(0, {}));
      }
    }
    return {reference};
  }

  Bounds bounds(const Case& c, const Contract& contract, const Reference& reference) const override {
    return bounds_of(blas::product_rule(reference.dtype, false, contract, c.integer("k")), reference, 1, gemm::kPer);
  }

  std::string cap_violation(const Contract& contract) const override {
    const std::string common = common_cap_violation(contract);
    return common.empty() ? summation_cap_violation(contract) : common;
  }

  // Of sixteen elements that are drawn again not all are the same, whatever their type.
  std::vector<Sensitivity> sensitivities(const Case& c) const override {
    const std::vector<TensorSpec> tensors = own_tensors(c);
    if (!blas::is_drawn(c) || tensors[kC].elements() < blas::kEnough) return {};
    std::vector<Sensitivity> all;
    if (tensors[kA].elements() >= blas::kEnough) all.push_back({.what = "tensor a", .tensor = "a"});
    if (tensors[kB].elements() >= blas::kEnough) all.push_back({.what = "tensor b", .tensor = "b"});
    return all;
  }

  std::optional<Case> leading_part(const Case& c) const override {
    const std::vector<int64_t> batch = batch_of(c, "none");
    if (!batch.empty() && batch[0] > 1) return c.with({{"b1", "1"}});
    const bool is_one_matrix = std::all_of(batch.begin(), batch.end(), [](int64_t length) { return length == 1; });
    if (is_one_matrix && c.integer("m") > 1) return c.with({{"m", "1"}});
    return std::nullopt;
  }

  std::vector<TensorAxis> row_order(const Case& c) const override {
    const int rank = rank_of(c);
    if (c.integer("m") > 1) return {{"a", rank - 2}, {"c", rank - 2}};
    const std::vector<int64_t> batch = batch_of(c, "none");
    if (!batch.empty() && batch[0] > 1) return {{"a", 0}, {"b", 0}, {"c", 0}};
    return {};
  }

  std::optional<Case> more_terms(const Case& c) const override {
    if (c.integer("k") == 0) return std::nullopt;
    return longer(c, "k");
  }

  std::vector<RowIndependence> row_independence(const Case& c) const override {
    if (c.integer("k") == 0) return {};
    const int rank = rank_of(c);
    return {{.input = "a", .input_axis = rank - 2, .output = "c", .output_axis = rank - 2},
            {.input = "b", .input_axis = rank - 1, .output = "c", .output_axis = rank - 1}};
  }

  std::vector<ScaleRelation> scale_relations(const Case& c) const override {
    const std::string& fill = c.word("fill");
    if (fill == "huge" || fill == "subnormal") return {};
    return {{.input = "a", .output = "c"}, {.input = "b", .output = "c"}};
  }

 private:
  static void require_axes(const Case& c) {
    const char* names[kMostBatchAxes] = {"b1", "b2", "b3"};
    for (size_t i = batch_axes(c); i < kMostBatchAxes; ++i) {
      if (c.integer(names[i]) == 1) continue;
      throw UsageError("case of matmul: field '" + std::string(names[i]) + "' is no axis of rank " + c.word("rank") +
                       "; leave it out, or give rank=" + std::to_string(i + 3));
    }
    const std::vector<int64_t> a = batch_of(c, c.word("broadcast_a")), b = batch_of(c, c.word("broadcast_b"));
    const std::vector<int64_t> whole = batch_of(c, "none");
    for (size_t i = 0; i < whole.size(); ++i) {
      if (std::max(a[i], b[i]) == whole[i] || std::min(a[i], b[i]) == 0) continue;
      throw UsageError("case of matmul: fields 'broadcast_a' and 'broadcast_b' both give batch axis " +
                       std::to_string(i + 1) + " length 1, which leaves nobody to be its " + std::to_string(whole[i]) +
                       "; give one of them none");
    }
  }
};

}  // namespace
}  // namespace matmul

std::unique_ptr<Op> make_matmul_op() { return std::make_unique<matmul::MatmulOp>(); }

}  // namespace assay
