#include "check/freivalds.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <thread>
#include <utility>

#include "check/number.h"
#include "check/residue.h"
#include "core/error.h"
#include "fill/fill.h"

namespace assay {
namespace {

using residue::HalfSums;

// ---- passes on the host ----

constexpr int64_t kBlock = 64;  // rows of a matrix whose sums are kept at once

struct Block {
  int64_t entry, first, rows;  // rows [first, first + rows) of an entry
};

// Adds the elements of a block to its rows' sums.
template <DType T>
void add_block(const MatrixView& m, const Block& block, const uint64_t* x, double limit, HalfSums* products,
               HalfSums* sums, IntegersFound& found) {
  const auto visit = [&](int64_t r, int64_t j) {
    const int64_t i = block.first + r;
    const auto [is_one, value] = residue::integer_within(load(T, m.data, m.offset(block.entry, i, j)), limit);
    if (!is_one) {
      const int64_t index = (block.entry * m.rows + i) * m.cols + j;
      if (found.others++ == 0 || index < found.first_other) found.first_other = index;
      return;
    }
    const uint64_t magnitude = value < 0 ? uint64_t{0} - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
    found.largest = std::max(found.largest, magnitude);
    products[r].add(residue::multiply(residue::of_integer(value), x[j]));
    sums[r].add(magnitude);
  };
  const bool rows_are_neighbours = m.row_stride < m.col_stride;
  const int64_t outer = rows_are_neighbours ? m.cols : block.rows, inner = rows_are_neighbours ? block.rows : m.cols;
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t n = 0; n < inner; ++n) rows_are_neighbours ? visit(n, o) : visit(o, n);
  }
}

void merge(IntegersFound& all, const IntegersFound& more) {
  all.largest = std::max(all.largest, more.largest);
  if (more.others > 0 && (all.others == 0 || more.first_other < all.first_other)) all.first_other = more.first_other;
  all.others += more.others;
}

class HostPasses : public MatrixPasses {
 public:
  explicit HostPasses(int threads) : threads_(threads) {}

  IntegersFound multiply(const MatrixView& m, std::span<const uint64_t> x, double limit,
                         std::vector<uint64_t>& products, std::vector<double>* sums) override {
    const auto rows = static_cast<size_t>(m.entries * m.rows);
    products.assign(rows, 0);
    if (sums != nullptr) sums->assign(rows, 0);
    const int64_t blocks_each = (m.rows + kBlock - 1) / kBlock, blocks = m.entries * blocks_each;
    const bool x_is_shared = static_cast<int64_t>(x.size()) == m.cols;
    const int threads = static_cast<int>(std::clamp<int64_t>(m.entries * m.rows * m.cols / kWorthAThread, 1, threads_));
    std::vector<IntegersFound> found(static_cast<size_t>(threads));
    std::atomic<int64_t> next = 0;
    const auto work = [&](size_t thread) {
      for (int64_t b; (b = next++) < blocks;) {
        const int64_t first = b % blocks_each * kBlock;
        const Block block{b / blocks_each, first, std::min(kBlock, m.rows - first)};
        HalfSums of_products[kBlock], of_magnitudes[kBlock];
        with_dtype(m.dtype, [&](auto type) {
          add_block<decltype(type)::value>(m, block, x.data() + (x_is_shared ? 0 : block.entry * m.cols), limit,
                                           of_products, of_magnitudes, found[thread]);
        });
        for (int64_t r = 0; r < block.rows; ++r) {
          const auto at = static_cast<size_t>(block.entry * m.rows + first + r);
          products[at] = residue::of_sum(of_products[r]);
          if (sums != nullptr) (*sums)[at] = residue::rounded_up(of_magnitudes[r]);
        }
      }
    };
    std::vector<std::jthread> helpers;
    for (size_t thread = 1; thread < found.size(); ++thread) helpers.emplace_back(work, thread);
    work(0);
    helpers.clear();  // they have ended
    IntegersFound all;
    for (const IntegersFound& one : found) merge(all, one);
    return all;
  }

  std::vector<double> elements(const MatrixView& m, int64_t first, int64_t stride, int64_t count) override {
    std::vector<double> values;
    for (int64_t i = 0; i < count; ++i) values.push_back(load(m.dtype, m.data, first + i * stride));
    return values;
  }

 private:
  static constexpr int64_t kWorthAThread = 1 << 16;  // elements; starting a thread costs tens of microseconds
  int threads_;
};

// ---- what is multiplied ----

constexpr double kLargestInput = 0x1p53;  // every integer up to here is a double

MatrixView view_of(const TensorSpec& spec, const void* data, bool transposed) {
  const int rows = transposed ? 2 : 1, cols = transposed ? 1 : 2;
  return {.data = data,
          .dtype = spec.dtype,
          .entries = spec.shape[0],
          .rows = spec.shape[rows],
          .cols = spec.shape[cols],
          .entry_stride = spec.strides[0],
          .row_stride = spec.strides[rows],
          .col_stride = spec.strides[cols]};
}

// One entry of op(X), with rows and columns changed places.
MatrixView turned(const MatrixView& m, int64_t entry) {
  const auto* first =
      static_cast<const std::byte*>(m.data) + entry * m.entry_stride * static_cast<int64_t>(size_of(m.dtype));
  return {.data = first,
          .dtype = m.dtype,
          .entries = 1,
          .rows = m.cols,
          .cols = m.rows,
          .entry_stride = 0,
          .row_stride = m.col_stride,
          .col_stride = m.row_stride};
}

bool is_integer(double x) { return residue::integer_within(x, kLargestInput).is_one; }

uint64_t residue_of(double integer) { return residue::of_integer(static_cast<int64_t>(integer)); }

std::vector<uint64_t> random_residues(uint64_t seed, int64_t count) {
  std::vector<uint64_t> x(static_cast<size_t>(count));
  for (size_t i = 0; i < x.size(); ++i) x[i] = residue::of_bits(fill_detail::hash(seed, i) >> 3);
  return x;
}

}  // namespace

std::unique_ptr<MatrixPasses> make_host_passes(int threads) { return std::make_unique<HostPasses>(threads); }

Freivalds::Freivalds(const MatrixProductOp& op, const Case& c, const std::vector<TensorSpec>& specs,
                     std::span<const void* const> data, uint64_t seed, std::unique_ptr<MatrixPasses> passes)
    : op_(op),
      case_(c),
      product_(op.matrix_product(c)),
      out_(specs[product_.out]),
      passes_(std::move(passes)),
      seed_(seed) {
  const auto view = [&](size_t tensor, bool transposed) { return view_of(specs[tensor], data[tensor], transposed); };
  left_ = view(product_.left, product_.left_transposed);
  right_ = view(product_.right, product_.right_transposed);
  old_ = view(product_.out, false);
  reads_products_ = product_.alpha != 0 && left_.cols > 0 && out_.elements() > 0;
  reads_old_ = product_.beta != 0 && out_.elements() > 0;
  for (const auto& [name, value] : {std::pair{"alpha", product_.alpha}, {"beta", product_.beta}}) {
    if (refusal_.empty() && !is_integer(value)) refusal_ = fmt::format("{} = {} is no integer", name, value);
  }
  constexpr int64_t kMost = int64_t{1} << 32;
  if (std::max({old_.rows, old_.cols, left_.cols}) >= kMost) refusal_ = "more than 2^32 rows or columns";
  if (!refusal_.empty()) return;

  look_at_inputs(specs);
}

void Freivalds::look_at_inputs(const std::vector<TensorSpec>& specs) {
  // A vector for all entries of the batch: their errors are independent of it and of each other.
  random_ = random_residues(fill_detail::hash(seed_, 0), old_.cols);
  expected_.assign(static_cast<size_t>(old_.entries * old_.rows), 0);
  std::vector<uint64_t> products;
  double sums = 0, old = 0;
  if (reads_products_) {
    std::vector<uint64_t> of_right;
    std::vector<double> of_rows;
    const IntegersFound right = passes_->multiply(right_, random_, kLargestInput, of_right, nullptr);
    if (!are_integers(right, specs[product_.right])) return;
    const IntegersFound left = passes_->multiply(left_, of_right, kLargestInput, products, &of_rows);
    if (!are_integers(left, specs[product_.left])) return;
    for (size_t i = 0; i < expected_.size(); ++i) {
      expected_[i] = residue::multiply(residue_of(product_.alpha), products[i]);
    }
    // The largest row of |left| times the largest of |right|: at least every sum of |a b|.
    const double largest_row = *std::max_element(of_rows.begin(), of_rows.end());
    sums = largest_row * static_cast<double>(right.largest);
    reach_.operand = std::max({1.0, static_cast<double>(left.largest), static_cast<double>(right.largest)});
  }
  if (reads_old_) {
    const IntegersFound found = passes_->multiply(old_, random_, kLargestInput, products, nullptr);
    if (!are_integers(found, out_)) return;
    for (size_t i = 0; i < expected_.size(); ++i) {
      expected_[i] = residue::add(expected_[i], residue::multiply(residue_of(product_.beta), products[i]));
    }
    old = static_cast<double>(found.largest);
  }
  const double scaled = std::fabs(product_.alpha) * sums + std::fabs(product_.beta) * old;
  // What stays below 2^53 was computed exactly; anything else may have been rounded down.
  reach_.sums = std::max(sums, scaled);
  if (reach_.sums >= 0x1p53) reach_.sums *= 1 + 0x1p-50;
}

bool Freivalds::are_integers(const IntegersFound& found, const TensorSpec& spec) {
  if (found.others > 0)
    refusal_ = fmt::format("{} holds {} elements that are no integers within 2^53", spec.name, found.others);
  return found.others == 0;
}

std::string Freivalds::refusal(const Contract& contract) const {
  if (!refusal_.empty()) return refusal_;
  if (op_.is_exact(case_, contract, reach_)) return "";
  return fmt::format("sums may reach {:.17g}, more than is exact in the contract's arithmetic or the output's type",
                     reach_.sums);
}

double Freivalds::exactly(int64_t entry, int64_t i, int64_t j) const {
  __int128 sum = 0;
  if (reads_products_) {
    const std::vector<double> a = passes_->elements(left_, left_.offset(entry, i, 0), left_.col_stride, left_.cols);
    const std::vector<double> b = passes_->elements(right_, right_.offset(entry, 0, j), right_.row_stride, left_.cols);
    for (size_t k = 0; k < a.size(); ++k) sum += static_cast<__int128>(a[k]) * static_cast<__int128>(b[k]);
    sum *= static_cast<__int128>(product_.alpha);
  }
  if (reads_old_) {
    const double old = passes_->elements(old_, old_.offset(entry, i, j), 1, 1)[0];
    sum += static_cast<__int128>(product_.beta) * static_cast<__int128>(old);
  }
  return static_cast<double>(sum);  // within the bound: exact
}

Freivalds::Wrong Freivalds::locate(const MatrixView& got, int64_t row) const {
  const int64_t entry = row / got.rows, i = row % got.rows;
  const std::vector<double> outputs = passes_->elements(got, got.offset(entry, i, 0), got.col_stride, got.cols);
  std::vector<uint64_t> products(outputs.size());
  if (reads_products_) {
    std::vector<uint64_t> left;
    for (const double a : passes_->elements(left_, left_.offset(entry, i, 0), left_.col_stride, left_.cols)) {
      left.push_back(residue_of(a));
    }
    passes_->multiply(turned(right_, entry), left, kLargestInput, products, nullptr);
  }
  std::vector<double> old(outputs.size());
  if (reads_old_) old = passes_->elements(old_, old_.offset(entry, i, 0), old_.col_stride, old_.cols);
  Wrong wrong;
  for (size_t j = 0; j < outputs.size(); ++j) {
    const uint64_t want = residue::add(residue::multiply(residue_of(product_.alpha), products[j]),
                                       residue::multiply(residue_of(product_.beta), residue_of(old[j])));
    const residue::Integer output = residue::integer_within(outputs[j], reach_.sums);
    if (output.is_one && residue::of_integer(output.value) == want) continue;
    if (wrong.in_row++ > 0) continue;
    const auto column = static_cast<int64_t>(j);
    wrong.index = row * got.cols + column;
    wrong.got = outputs[j];
    wrong.want = exactly(entry, i, column);
    if (residue_of(wrong.want) != want) throw Error("freivalds: an element and its residue do not agree");
  }
  if (wrong.in_row == 0) throw Error("freivalds: row " + std::to_string(row) + " is wrong, and none of its elements");
  return wrong;
}

ErrorSummary Freivalds::judge(const void* got, const Contract& contract) {
  if (const std::string why = refusal(contract); !why.empty()) throw Error("freivalds: " + why);
  ErrorSummary summary{.tensor = out_.name, .elements = out_.elements(), .exact = out_.elements()};
  wrong_rows_ = 0;
  if (summary.elements == 0) return summary;
  MatrixView output = old_;
  output.data = got;
  std::vector<uint64_t> products;
  const IntegersFound found = passes_->multiply(output, random_, reach_.sums, products, nullptr);
  int64_t first_row = found.others > 0 ? found.first_other / output.cols : -1;
  wrong_rows_ = first_row >= 0 && products[static_cast<size_t>(first_row)] == expected_[static_cast<size_t>(first_row)];
  for (size_t row = 0; row < products.size(); ++row) {
    if (products[row] == expected_[row]) continue;
    ++wrong_rows_;
    if (first_row < 0 || static_cast<int64_t>(row) < first_row) first_row = static_cast<int64_t>(row);
  }
  if (first_row < 0) return summary;
  const Wrong wrong = locate(output, first_row);
  summary.failures = std::max(found.others, wrong.in_row + wrong_rows_ - 1);
  summary.misrounded = static_cast<double>(summary.failures) / static_cast<double>(summary.elements);
  summary.worst_index = wrong.index;
  summary.worst_got = wrong.got;
  summary.worst_want = wrong.want;
  return summary;
}

}  // namespace assay
