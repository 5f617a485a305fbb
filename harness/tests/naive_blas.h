// BLAS level 1 as anybody would write it, in several ways that are all right, over tensors as a kernel gets them: what
// the bounds of the BLAS ops must never fail. Increments are read as netlib's BLAS reads them, by pointers, and not as
// the ops' oracles do.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "oracle_problem.h"

namespace assay::testing {

enum class Way { forward, backward, pairwise, lanes, fused };
inline constexpr Way kWays[] = {Way::forward, Way::backward, Way::pairwise, Way::lanes, Way::fused};

// What is wrong with it, if anything.
enum class Fault {
  none,
  drops_last,
  ignores_direction,  // of a negative increment
  ignores_conj,
  ignores_alpha,
  ignores_alpha_im,
  multiplies_by_zero,  // reads x though alpha is 0
  last_of_equal,       // iamax
  signed_largest,      // iamax, of x and not of |x|
  skips_imaginary,
  unscaled,          // squares that overflow
  positive_root,     // rotg without sigma
  swaps,             // rot with s for -s, a matrix not transposed
  half_accumulator,  // sums in f16
};

// The tensors of a case, each stored number as a double, in memory order.
struct Memory {
  explicit Memory(const Problem& p) : problem(&p) {
    for (size_t t = 0; t < p.specs.size(); ++t) {
      const TensorSpec& spec = p.specs[t];
      std::vector<double>& all = of.emplace_back(static_cast<size_t>(spec.span_elements()), std::nan(""));
      if (spec.role == Role::output) continue;
      for (size_t i = 0; i < all.size(); ++i) {
        all[i] = load(spec.dtype, p.storage[t].data(), static_cast<int64_t>(i));
      }
    }
  }
  // Logical elements of an output.
  std::vector<double> output(const std::string& name) const {
    size_t t = 0;
    while (problem->specs[t].name != name) ++t;
    const TensorSpec& spec = problem->specs[t];
    std::vector<double> all(static_cast<size_t>(spec.elements()));
    for (size_t i = 0; i < all.size(); ++i) {
      all[i] = of[t][static_cast<size_t>(offset_of(spec, static_cast<int64_t>(i)))];
    }
    return all;
  }

  const Problem* problem;
  std::vector<std::vector<double>> of;
};

template <class T>
using Terms = std::vector<std::pair<T, T>>;

template <class T>
T sum_of(const Terms<T>& terms, Way way, Fault fault = Fault::none) {
  const auto n = static_cast<int64_t>(terms.size());
  const auto product = [&](int64_t i) {
    const auto& [a, b] = terms[static_cast<size_t>(i)];
    return static_cast<T>(a * b);
  };
  T sum = 0;
  switch (way) {
    case Way::pairwise:
      return sum_in<T>(Order::pairwise, n, product);
    case Way::lanes:
      return sum_in<T>(Order::lanes, n, product);
    case Way::backward:
      for (int64_t i = n; i-- > 0;) sum += product(i);
      return sum;
    case Way::fused:
      for (const auto& [a, b] : terms) sum = std::fma(a, b, sum);
      return sum;
    case Way::forward:
      for (int64_t i = 0; i < n; ++i) {
        sum += product(i);
        if (fault == Fault::half_accumulator) sum = static_cast<T>(round_to(DType::f16, sum));
      }
  }
  return sum;
}

// A vector as BLAS gets it: where it begins, how many, and the increment in numbers of `parts` elements.
struct Pointer {
  double* first;
  int64_t step;
  Pointer(std::vector<double>& memory, int64_t begin, int64_t n, int64_t inc, int64_t parts, Fault fault)
      : first(memory.data() + begin), step(inc * parts) {
    if (fault == Fault::ignores_direction) {
      step = std::abs(step);
    } else if (inc < 0 && n > 0) {
      first -= (n - 1) * step;
    }
  }
  double& at(int64_t i, int64_t part = 0) const { return first[i * step + part]; }
};

// (re, im) += a x, of which conj(a) where asked.
template <class T>
void add_complex(Terms<T>& re, Terms<T>& im, T are, T aim, T xre, T xim) {
  re.emplace_back(are, xre);
  re.emplace_back(-aim, xim);
  im.emplace_back(are, xim);
  im.emplace_back(aim, xre);
}

template <class T>
class NaiveBlas {
 public:
  NaiveBlas(const Problem& p, Way way, Fault fault) : p_(p), c_(p.c), m_(p), way_(way), fault_(fault) {
    parts_ = c_.word("domain") == "complex" ? 2 : 1;
    if (c_.has("n")) n_ = c_.integer("n");
  }

  Memory run() {
    const std::string op = c_.op().substr(5);
    if (op == "dot") dot();
    if (op == "asum") each_vector([this](const Pointer& x, int64_t n) { return asum(x, n); });
    if (op == "nrm2") each_vector([this](const Pointer& x, int64_t n) { return nrm2(x, n); });
    if (op == "iamax") each_vector([this](const Pointer& x, int64_t n) { return iamax(x, n); });
    if (op == "axpy" || op == "scal" || op == "copy" || op == "rot") elementwise(op);
    if (op == "omatcopy") omatcopy();
    return m_;
  }

 private:
  Pointer pointer(size_t tensor, const char* inc, int64_t entry = 0) {
    const TensorSpec& spec = p_.specs[tensor];
    const bool batched = spec.shape.size() - (parts_ == 2 ? 1 : 0) == 2;
    return {m_.of[tensor], batched ? entry * spec.strides[0] : 0, n_, c_.integer(inc), parts_, fault_};
  }
  T factor(const char* name) const { return static_cast<T>(c_.real(name)); }
  int64_t count() const { return fault_ == Fault::drops_last ? n_ - 1 : n_; }

  void dot() {
    const bool wide = c_.word("out") == "f64";
    const T sign = c_.word("conj") == "y" && fault_ != Fault::ignores_conj ? -1 : 1;
    for (int64_t entry = 0; entry < c_.integer("batch"); ++entry) {
      const Pointer x = pointer(0, "incx", entry), y = pointer(1, "incy", entry);
      Terms<T> re, im;
      Terms<double> twice;
      for (int64_t i = 0; i < count(); ++i) {
        if (parts_ == 2) {
          add_complex<T>(re, im, static_cast<T>(x.at(i)), sign * static_cast<T>(x.at(i, 1)), static_cast<T>(y.at(i)),
                         static_cast<T>(y.at(i, 1)));
        } else {
          re.emplace_back(static_cast<T>(x.at(i)), static_cast<T>(y.at(i)));
          twice.emplace_back(x.at(i), y.at(i));
        }
      }
      double* r = m_.of[2].data() + entry * parts_;
      r[0] = wide ? sum_of(twice, way_) : sum_of(re, way_, fault_);
      if (parts_ == 2) r[1] = sum_of(im, way_);
    }
  }

  void each_vector(const std::function<double(const Pointer&, int64_t)>& result) {
    // nrm2 of the reference BLAS goes backwards from 3.10 on.
    const bool goes_backwards = c_.op() == "blas_nrm2" && way_ == Way::lanes;
    const int64_t n = c_.integer("incx") > 0 || goes_backwards ? count() : 0;
    for (int64_t entry = 0; entry < c_.integer("batch"); ++entry) {
      m_.of[1][static_cast<size_t>(entry)] = n > 0 ? result(pointer(0, "incx", entry), n) : 0;
    }
  }

  std::vector<T> magnitudes(const Pointer& x, int64_t n) const {
    std::vector<T> all;
    const int64_t parts = fault_ == Fault::skips_imaginary ? 1 : parts_;
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t part = 0; part < parts; ++part) all.push_back(static_cast<T>(std::fabs(x.at(i, part))));
    }
    return all;
  }

  double asum(const Pointer& x, int64_t n) {
    Terms<T> terms;
    for (const T value : magnitudes(x, n)) terms.emplace_back(T(1), value);
    return sum_of(terms, way_, fault_);
  }

  // forward: rescaled by the largest so far (reference BLAS 3.9); lanes: Blue's three sums (3.10); else in f64, which
  // the squares of f32 never leave.
  double nrm2(const Pointer& x, int64_t n) {
    const std::vector<T> all = magnitudes(x, n);
    if (fault_ == Fault::unscaled) {
      T sum = 0;
      for (const T v : all) sum += v * v;
      return std::sqrt(sum);
    }
    if (way_ == Way::forward) {
      T scale = 0, ssq = 1;
      for (const T v : all) {
        if (v == 0) continue;
        if (scale < v) {
          ssq = 1 + ssq * (scale / v) * (scale / v);
          scale = v;
        } else {
          ssq += (v / scale) * (v / scale);
        }
      }
      return scale * std::sqrt(ssq);
    }
    if (way_ == Way::lanes || sizeof(T) == 8) return three_sums(all);
    double sum = 0;
    for (const T v : all) sum += double(v) * double(v);
    return static_cast<T>(std::sqrt(sum));
  }

  // la_constants.f90 and dnrm2.f90 of LAPACK 3.12.
  static double three_sums(const std::vector<T>& all) {
    const bool single = sizeof(T) == 4;
    const T tsml = std::ldexp(T(1), single ? -63 : -511), tbig = std::ldexp(T(1), single ? 52 : 486);
    const T ssml = std::ldexp(T(1), single ? 75 : 537), sbig = std::ldexp(T(1), single ? -76 : -538);
    T asml = 0, amed = 0, abig = 0;
    bool notbig = true;
    for (const T v : all) {
      if (v > tbig) {
        abig += (v * sbig) * (v * sbig);
        notbig = false;
      } else if (v < tsml) {
        if (notbig) asml += (v * ssml) * (v * ssml);
      } else {
        amed += v * v;
      }
    }
    if (abig > 0) {
      if (amed > 0 || std::isnan(amed)) abig += (amed * sbig) * sbig;
      return std::sqrt(abig) / sbig;
    }
    if (!(asml > 0)) return std::sqrt(amed);
    if (!(amed > 0) && !std::isnan(amed)) return std::sqrt(asml) / ssml;
    const T med = std::sqrt(amed), small = std::sqrt(asml) / ssml;
    const T least = small > med ? med : small, most = small > med ? small : med;
    return std::sqrt(most * most * (1 + (least / most) * (least / most)));
  }

  double iamax(const Pointer& x, int64_t n) {
    int64_t found = 0;
    T largest = 0;
    for (int64_t i = 0; i < n; ++i) {
      T size = static_cast<T>(std::fabs(x.at(i)));
      if (fault_ == Fault::signed_largest) size = static_cast<T>(x.at(i));
      if (parts_ == 2 && fault_ != Fault::skips_imaginary) size += static_cast<T>(std::fabs(x.at(i, 1)));
      const bool more = fault_ == Fault::last_of_equal ? size >= largest : size > largest;
      if (i == 0 || more) {
        largest = size;
        found = i;
      }
    }
    return static_cast<double>(found);
  }

  void elementwise(const std::string& op) {
    const Pointer x = pointer(0, "incx"), y = op == "scal" ? x : pointer(1, "incy");
    const bool vanishes = c_.has("alpha") && factor("alpha") == 0 && factor("alpha_im") == 0;
    if (op == "scal" && c_.integer("incx") <= 0) return;
    if (op == "axpy" && vanishes && fault_ != Fault::multiplies_by_zero) return;
    for (int64_t i = 0; i < count(); ++i) {
      if (op == "copy" || op == "rot") {
        for (int64_t part = 0; part < (fault_ == Fault::skips_imaginary ? 1 : parts_); ++part) {
          const T a = static_cast<T>(x.at(i, part)), b = static_cast<T>(y.at(i, part));
          if (op == "copy") {
            y.at(i, part) = a;
          } else {
            const T c = factor("c"), s = fault_ == Fault::swaps ? -factor("s") : factor("s");
            x.at(i, part) = sum_of<T>({{c, a}, {s, b}}, way_);
            y.at(i, part) = sum_of<T>({{c, b}, {-s, a}}, way_);
          }
        }
        continue;
      }
      scale(x, y, i, op == "axpy");
    }
  }

  // One element of y: alpha x, and y added.
  void scale(const Pointer& x, const Pointer& y, int64_t i, bool adds) {
    const T are = fault_ == Fault::ignores_alpha ? T(1) : factor("alpha");
    const T aim = fault_ == Fault::ignores_alpha || fault_ == Fault::ignores_alpha_im ? T(0) : factor("alpha_im");
    Terms<T> re, im;
    if (parts_ == 2) {
      add_complex<T>(re, im, are, aim, static_cast<T>(x.at(i)), static_cast<T>(x.at(i, 1)));
    } else {
      re.emplace_back(are, static_cast<T>(x.at(i)));
    }
    if (adds) re.emplace_back(T(1), static_cast<T>(y.at(i)));
    if (adds && parts_ == 2) im.emplace_back(T(1), static_cast<T>(y.at(i, 1)));
    y.at(i) = sum_of(re, way_);
    if (parts_ == 2) y.at(i, 1) = sum_of(im, way_);
  }

  void omatcopy() {
    const int64_t rows = c_.integer("rows"), cols = c_.integer("cols");
    const std::string& op = c_.word("trans");
    const bool by_rows = c_.word("order") == "row";
    const bool turned = (op == "t" || op == "c") != (fault_ == Fault::swaps && rows == cols);
    const T sign = (op == "r" || op == "c") && fault_ != Fault::ignores_conj ? -1 : 1;
    const int64_t lda = (by_rows ? cols : rows) + c_.integer("pad_a");
    const int64_t ldb = ((by_rows != turned) ? cols : rows) + c_.integer("pad_b");
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < (fault_ == Fault::drops_last ? cols - 1 : cols); ++j) {
        const int64_t from = by_rows ? i * lda + j : j * lda + i;
        const int64_t k = turned ? j : i, l = turned ? i : j;
        double* a = m_.of[0].data() + from * parts_;
        double* b = m_.of[1].data() + (by_rows ? k * ldb + l : l * ldb + k) * parts_;
        Terms<T> re, im;
        const T are = fault_ == Fault::ignores_alpha ? T(1) : factor("alpha"), aim = factor("alpha_im");
        if (parts_ == 2) {
          add_complex<T>(re, im, are, aim, static_cast<T>(a[0]), sign * static_cast<T>(a[1]));
          b[1] = sum_of(im, way_);
        } else {
          re.emplace_back(are, static_cast<T>(a[0]));
        }
        b[0] = sum_of(re, way_);
      }
    }
  }

  const Problem& p_;
  const Case& c_;
  Memory m_;
  Way way_;
  Fault fault_;
  int64_t parts_ = 1, n_ = 0;
};

// The failures of one way of computing a case, over all its outputs.
inline int64_t naive_failures(const Problem& p, Way way, Fault fault, const Contract& contract, std::string* first = {},
                              int64_t* elements = nullptr) {
  const bool single = p.c.word("dtype") == "f32";
  const Memory m = single ? NaiveBlas<float>(p, way, fault).run() : NaiveBlas<double>(p, way, fault).run();
  int64_t failures = 0;
  for (const Reference& reference : p.oracle()) {
    const std::vector<double> got = m.output(reference.tensor);
    const ErrorSummary s = judge_output(*p.op, p.c, p.output(reference), reference, contract, got);
    failures += s.failures;
    if (elements != nullptr) *elements += s.elements - s.no_evidence;
    if (s.failures > 0 && first != nullptr && first->empty()) {
      *first = s.tensor + "[" + std::to_string(s.worst_index) + "] got " + print_number(s.worst_got) + ", want " +
               print_number(s.worst_want) + " +- " + print_number(s.worst_bound);
    }
  }
  return failures;
}

}  // namespace assay::testing
