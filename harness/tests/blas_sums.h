// The BLAS ops that are sums of products, once more: which products make an output element, said independently of the
// reference, and implementations that sum them in many ways, correct or with a fault.
#pragma once

#include <complex>
#include <string>
#include <utility>
#include <vector>

#include "oracle_problem.h"

namespace assay::testing {

struct Pair {
  double re = 0, im = 0;
};

// alpha sum of products + beta old; or the old value where nothing is computed.
struct BlasSum {
  std::vector<std::pair<Pair, Pair>> products;
  Pair alpha{1, 0}, beta{}, old{};
  bool untouched = false;
  bool adds_old = false;  // as it is, without a product
};

enum class BlasFault {
  none,
  drops_last,
  ignores_alpha,
  ignores_beta,
  no_conjugation,
  conjugates_other,
  ignores_increment_sign,
  reads_other_triangle,
  multiplies_unit_diagonal,
  swaps_order,
  writes_other_triangle,
  three_products,
  half_sums,
};

class BlasProblem {
 public:
  explicit BlasProblem(const Case& c)
      : problem(registry().named(c.op()), c), complex(c.word("domain") == "complex"), op(c.op()) {}

  size_t output() const { return problem.specs.size() - 1; }
  int64_t numbers() const { return problem.specs[output()].elements() / (complex ? 2 : 1); }

  // Of the output's logical number `at`.
  BlasSum sum(int64_t at, BlasFault fault = BlasFault::none) const {
    const Case& c = problem.c;
    const auto word = [&c](const char* name) { return c.word(name); };
    const bool is_vector = op == "blas_gemv" || op == "blas_trmv";
    const int64_t columns = is_vector ? 1 : problem.specs[output()].shape[1], i = at / columns, j = at % columns;
    BlasSum s;
    if (c.has("alpha")) s.alpha = scalar("alpha");
    if (c.has("beta")) s.beta = scalar("beta");
    const bool no_alpha = s.alpha.re == 0 && s.alpha.im == 0;
    if (op == "blas_gemm") {
      s.old = element(2, i, j, fault);
      for (int64_t p = 0; p < (no_alpha ? 0 : c.integer("k")); ++p) {
        s.products.emplace_back(of_op(0, word("transa"), i, p, fault), of_op(1, word("transb"), p, j, fault));
      }
    } else if (op == "blas_gemv") {
      const int64_t inner = c.integer(word("trans") == "n" ? "n" : "m");
      const int64_t row = from_stored(at, numbers(), c.integer("incy"), fault);
      s.old = vector(2, at);
      s.untouched = c.integer("m") == 0 || c.integer("n") == 0;
      for (int64_t p = 0; p < (no_alpha ? 0 : inner); ++p) {
        s.products.emplace_back(of_op(0, word("trans"), row, p, fault),
                                vector(1, from_stored(p, inner, c.integer("incx"), fault)));
      }
    } else if (op == "blas_ger") {
      s.old = element(2, i, j, BlasFault::none);
      s.untouched = no_alpha;
      s.adds_old = true;
      s.beta = {1, 0};
      const bool conjugated = (word("conj") == "y") != (fault == BlasFault::no_conjugation && complex);
      const Pair x = vector(0, from_stored(i, c.integer("m"), c.integer("incx"), fault));
      const Pair y = vector(1, from_stored(j, c.integer("n"), c.integer("incy"), fault));
      if (!no_alpha) s.products.emplace_back(x, conjugated ? Pair{y.re, -y.im} : y);
    } else if (op == "blas_syrk") {
      s.old = element(1, i, j, BlasFault::none);
      s.untouched = (word("uplo") == "u" ? i > j : i < j) && fault != BlasFault::writes_other_triangle;
      for (int64_t p = 0; p < (no_alpha ? 0 : c.integer("k")); ++p) {
        const Pair other = of_op(0, word("trans"), j, p, fault);
        const bool conjugates = fault == BlasFault::conjugates_other;
        s.products.emplace_back(of_op(0, word("trans"), i, p, fault), conjugates ? Pair{other.re, -other.im} : other);
      }
    } else {
      const int64_t n = c.integer("n"), row = from_stored(at, n, c.integer("incx"), fault);
      const bool lower = (word("uplo") == "l") == (word("trans") == "n");
      const bool all = fault == BlasFault::reads_other_triangle;
      for (int64_t p = all || lower ? 0 : row; p < (all || !lower ? n : row + 1); ++p) {
        const Pair x = vector(1, from_stored(p, n, c.integer("incx"), fault));
        if (p == row && word("diag") == "u" && fault != BlasFault::multiplies_unit_diagonal) {
          s.old = x;
          s.adds_old = true;
          s.beta = {1, 0};
        } else {
          s.products.emplace_back(of_op(0, word("trans"), row, p, fault), x);
        }
      }
    }
    if (fault == BlasFault::drops_last && !s.products.empty()) s.products.pop_back();
    if (fault == BlasFault::ignores_alpha && !no_alpha) s.alpha = {1, 0};
    if (fault == BlasFault::ignores_beta && !s.adds_old) s.beta = {};
    return s;
  }

  Problem problem;
  bool complex;
  std::string op;

 private:
  Pair scalar(const std::string& name) const { return {problem.c.real(name), problem.c.real(name + "_im")}; }

  Pair at_offset(size_t tensor, int64_t offset) const {
    const TensorSpec& spec = problem.specs[tensor];
    const std::byte* data = problem.storage[tensor].data();
    if (offset < 0 || offset + (complex ? 2 : 1) > spec.span_elements()) return {};
    return {load(spec.dtype, data, offset), complex ? load(spec.dtype, data, offset + 1) : 0};
  }
  // Element (i, j) of a matrix, by what the case says of its storage.
  Pair element(size_t tensor, int64_t i, int64_t j, BlasFault fault) const {
    const TensorSpec& spec = problem.specs[tensor];
    const bool by_rows = (problem.c.word("order") == "row") != (fault == BlasFault::swaps_order);
    const char* pads[] = {"pad_a", "pad_b", "pad_c"};
    const char* pad = problem.c.has("pad") ? "pad" : op == "blas_syrk" && tensor == 1 ? "pad_c" : pads[tensor];
    const int64_t line = by_rows ? spec.shape[1] : spec.shape[0];
    const int64_t leading = std::max<int64_t>(line + problem.c.integer(pad), 1);
    return at_offset(tensor, (by_rows ? i * leading + j : j * leading + i) * (complex ? 2 : 1));
  }
  Pair of_op(size_t tensor, const std::string& trans, int64_t i, int64_t j, BlasFault fault) const {
    if (trans == "n") return element(tensor, i, j, fault);
    const Pair x = element(tensor, j, i, fault);
    return trans == "c" && fault != BlasFault::no_conjugation ? Pair{x.re, -x.im} : x;
  }
  // Number `place` of a vector's tensor.
  Pair vector(size_t tensor, int64_t place) const {
    return at_offset(tensor, place * problem.specs[tensor].strides[0]);
  }
  static int64_t from_stored(int64_t i, int64_t n, int64_t inc, BlasFault fault) {
    return inc < 0 && fault != BlasFault::ignores_increment_sign ? n - 1 - i : i;
  }
};

// How sums are formed in T.
struct BlasManner {
  enum Order { sequential, reversed, pairwise, lanes, fused } order = sequential;
  bool scales_factor = false;  // alpha a first, instead of alpha times the sum
  bool scales_old = false;     // beta c first, then one product after the other is added
  bool skips_zeros = false;
  bool real_scalars = false;  // an imaginary part of 0 is not multiplied
  bool annex_g = false;       // complex products as C has them, which makes infinities of some NaNs
  BlasFault fault = BlasFault::none;
};

template <class T>
class BlasInType {
 public:
  using Number = std::complex<T>;

  BlasInType(const BlasProblem& blas, const BlasManner& manner) : blas_(blas), manner_(manner) {}

  std::vector<double> outputs() const {
    std::vector<double> all;
    for (int64_t at = 0; at < blas_.numbers(); ++at) {
      const Number value = number(blas_.sum(at, manner_.fault));
      all.push_back(value.real());
      if (blas_.complex) all.push_back(value.imag());
    }
    return all;
  }

 private:
  static Number of(Pair x) { return {static_cast<T>(x.re), static_cast<T>(x.im)}; }
  static bool is_zero(Pair x) { return x.re == 0 && x.im == 0; }

  Number product(Number a, Number b) const {
    if (!blas_.complex) return {a.real() * b.real(), 0};
    if (manner_.annex_g) return a * b;
    if (manner_.fault == BlasFault::three_products) {
      const T both = (a.real() + a.imag()) * (b.real() + b.imag()), re = a.real() * b.real(), im = a.imag() * b.imag();
      return {re - im, both - re - im};
    }
    return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
  }
  Number scaled(Number factor, Number x) const {
    if (manner_.real_scalars && factor == Number(1, 0)) return x;
    if (manner_.real_scalars && factor.imag() == 0) return {factor.real() * x.real(), factor.real() * x.imag()};
    return product(factor, x);
  }
  Number narrowed(Number x) const {
    if (manner_.fault != BlasFault::half_sums) return x;
    return {static_cast<T>(round_to(DType::bf16, x.real())), static_cast<T>(round_to(DType::bf16, x.imag()))};
  }

  Number fused(const std::vector<std::pair<Number, Number>>& factors) const {
    T re = 0, im = 0;
    for (const auto& [a, b] : factors) {
      re = std::fma(a.real(), b.real(), re);
      if (!blas_.complex) continue;
      re = std::fma(-a.imag(), b.imag(), re);
      im = std::fma(a.real(), b.imag(), im);
      im = std::fma(a.imag(), b.real(), im);
    }
    return {re, im};
  }
  Number pairwise(const std::vector<Number>& terms, size_t begin, size_t end) const {
    if (begin == end) return {};
    if (end - begin == 1) return terms[begin];
    const size_t middle = (begin + end) / 2;
    return pairwise(terms, begin, middle) + pairwise(terms, middle, end);
  }
  Number total(const std::vector<std::pair<Number, Number>>& factors) const {
    if (manner_.order == BlasManner::fused) return fused(factors);
    std::vector<Number> terms;
    for (const auto& [a, b] : factors) terms.push_back(product(a, b));
    if (manner_.order == BlasManner::reversed) std::reverse(terms.begin(), terms.end());
    if (manner_.order == BlasManner::pairwise) return pairwise(terms, 0, terms.size());
    if (manner_.order == BlasManner::lanes) {
      Number lanes[8] = {}, sum = 0;
      for (size_t i = 0; i < terms.size(); ++i) lanes[i % 8] += terms[i];
      for (const Number& lane : lanes) sum += lane;
      return sum;
    }
    Number sum = 0;
    for (const Number& term : terms) sum = narrowed(sum + term);
    return sum;
  }

  Number number(const BlasSum& s) const {
    if (s.untouched) return of(s.old);
    const Number alpha = of(s.alpha), beta = of(s.beta);
    std::vector<std::pair<Number, Number>> factors;
    for (const auto& [a, b] : s.products) {
      if (manner_.skips_zeros && (is_zero(a) || is_zero(b))) continue;
      factors.emplace_back(manner_.scales_factor ? scaled(alpha, of(a)) : of(a), of(b));
    }
    const bool reads_old = !is_zero(s.beta);
    const Number old = !reads_old ? Number() : s.adds_old ? of(s.old) : scaled(beta, of(s.old));
    if (manner_.scales_old && manner_.scales_factor && reads_old) {
      Number sum = old;
      for (const auto& [a, b] : factors) sum += product(a, b);
      return sum;
    }
    Number sum = total(factors);
    if (!manner_.scales_factor && !s.products.empty()) sum = scaled(alpha, sum);
    return reads_old ? sum + old : sum;
  }

  const BlasProblem& blas_;
  BlasManner manner_;
};

}  // namespace assay::testing
