#include "reference/blas.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "core/error.h"
#include "reference/math/caps.h"

namespace assay::blas {

FieldSpec dtype_field() {
  return {.name = "dtype", .kind = FieldKind::word, .doc = "of every number", .choices = {"f64", "f32"}};
}
FieldSpec domain_field() {
  return {.name = "domain",
          .kind = FieldKind::word,
          .doc = "complex: tensors have a last axis of 2, real and imaginary part",
          .fallback = "real",
          .choices = {"real", "complex"}};
}
FieldSpec increment_field(const char* name) {
  return {.name = name,
          .doc = "elements from one to the next; negative: backwards; 0: one element is all",
          .fallback = "1",
          .least = -4,
          .most = 3};
}
FieldSpec order_field() {
  return {.name = "order",
          .kind = FieldKind::word,
          .doc = "of matrices: row after row or column after column",
          .fallback = "row",
          .choices = {"row", "col"}};
}
FieldSpec pad_field(const char* name) {
  return {.name = name, .doc = "elements between the rows or columns as stored", .fallback = "0"};
}
std::vector<FieldSpec> scalar_fields(const char* name, const char* doc, const char* fallback) {
  return {{.name = name, .kind = FieldKind::real, .doc = doc, .fallback = fallback},
          {.name = std::string(name) + "_im", .kind = FieldKind::real, .doc = "its imaginary part", .fallback = "0"}};
}

bool is_complex(const Case& c) { return c.word("domain") == "complex"; }

double real_scalar_of(const Case& c, const std::string& name) {
  const DType dtype = dtype_of(c);
  const double value = c.real(name);
  if (std::isfinite(value) && round_to(dtype, value) == value) return value;
  throw UsageError("case of " + c.op() + ": field '" + name + "' = " + c.word(name) + " is not a finite " +
                   std::string(name_of(dtype)) + " number; give one that is, such as 0.75");
}

Complex scalar_of(const Case& c, const std::string& name) {
  const Complex scalar{real_scalar_of(c, name), real_scalar_of(c, name + "_im")};
  if (scalar.im != 0 && !is_complex(c)) {
    throw UsageError("case of " + c.op() + ": field '" + name + "_im' = " + c.word(name + "_im") +
                     " has no meaning in domain=real; leave it out, or give domain=complex");
  }
  return scalar;
}

namespace {

// Of a tensor of numbers, which are 1 or 2 elements: those of shape and strides in numbers.
TensorSpec tensor_of(const Case& c, const char* name, std::vector<int64_t> shape, std::vector<int64_t> strides,
                     Role role, FillSpec fill) {
  if (is_complex(c)) {
    for (int64_t& stride : strides) stride *= 2;
    if (fill.axis < 0) fill.axis += static_cast<int>(shape.size());
    shape.push_back(2);
    strides.push_back(1);
  }
  return {.name = name, .dtype = dtype_of(c), .shape = shape, .strides = strides, .role = role, .fill = fill};
}

}  // namespace

TensorSpec vector_tensor(const Case& c, const char* name, int64_t n, int64_t inc, Role role, FillSpec fill) {
  const int64_t length = inc == 0 ? std::min<int64_t>(n, 1) : n;
  return tensor_of(c, name, {length}, {std::max<int64_t>(std::abs(inc), 1)}, role, std::move(fill));
}

TensorSpec vectors_tensor(const Case& c, const char* name, int64_t batch, int64_t n, int64_t inc, Role role,
                          FillSpec fill) {
  const int64_t length = inc == 0 ? std::min<int64_t>(n, 1) : n, step = std::max<int64_t>(std::abs(inc), 1);
  return tensor_of(c, name, {batch, length}, {std::max<int64_t>(length, 1) * step, step}, role, std::move(fill));
}

TensorSpec real_tensor(const char* name, DType dtype, int64_t count, Role role) {
  return {.name = name, .dtype = dtype, .shape = {count}, .strides = {1}, .role = role};
}

TensorSpec matrix_tensor(const Case& c, const char* name, int64_t rows, int64_t columns, int64_t pad, Role role,
                         FillSpec fill) {
  const bool by_rows = c.word("order") == "row";
  const int64_t leading = std::max<int64_t>((by_rows ? columns : rows) + pad, 1);
  const std::vector<int64_t> strides = by_rows ? std::vector<int64_t>{leading, 1} : std::vector<int64_t>{1, leading};
  return tensor_of(c, name, {rows, columns}, strides, role, std::move(fill));
}

void require_apart(const Case& c, const char* increment) {
  if (c.integer(increment) != 0) return;
  throw UsageError("case of " + c.op() + ": field '" + increment +
                   "' = 0 would have all elements written to one; give another");
}

bool run_together(const Case& c) {
  const int64_t incx = c.integer("incx"), incy = c.integer("incy");
  return incx != 0 && incy != 0 && (incx > 0) == (incy > 0);
}

Vector::Vector(const Case& c, const TensorView& view, int64_t n, int64_t inc, int64_t entry) : view_(&view) {
  const std::vector<int64_t>& strides = view.spec->strides;
  const size_t axis = strides.size() - (is_complex(c) ? 2 : 1);
  if (axis == 1) first_ = entry * strides[0];
  if (inc < 0 && n > 0) first_ += (n - 1) * strides[axis];
  step_ = inc == 0 ? 0 : inc < 0 ? -strides[axis] : strides[axis];
}

void Products::add(double a, double b) {
  ++count_;
  double ignored = 0;
  if (!is_finite(a) || !is_finite(b)) {
    finite_ = false;
    gemm::add_product_exactly(a, b, high_, low_, ignored);
    return;
  }
  gemm::add_product_exactly(a, b, high_, low_, magnitude_);
  if (a != 0 && b != 0) quantum_ = finer_of(quantum_, quantum_of(a) + quantum_of(b));
}

void Products::add_scaled(double scalar, double x) {
  if (scalar == 0 && !is_finite(x)) {
    unclear_ = true;
  } else {
    add(scalar, x);
  }
}

gemm::Element Products::finish() const {
  const auto n = static_cast<double>(count_);
  gemm::Element e;
  double* condition = e.condition;
  condition[gemm::kTerms] = condition[gemm::kLargest] = magnitude_ * (1 + (n + 8) * 0x1p-52);
  condition[gemm::kQuantum] = quantum_;
  condition[gemm::kOperand] = 1;
  if (unclear_) let_differ(e);
  if (!finite_) {
    e.hi = std::isnan(high_) ? std::numeric_limits<double>::quiet_NaN() : high_;  // one NaN on every machine
    // Annex G of the C standard makes an infinity of some of what (a + ib)(c + id), written out, makes a NaN.
    if (of_complex_ && std::isnan(e.hi)) return anything_not_finite();
    return e;
  }
  const DoubleDouble sum = two_sum(high_, low_);
  if (!is_finite(sum.hi) || !is_finite(condition[gemm::kTerms])) return anything();  // the order decides
  e.hi = sum.hi;
  e.lo = sum.lo;
  if (sums_are_exact(DType::f64, condition[gemm::kTerms], quantum_, false)) return e;
  const double g = gamma_n(n + 8, kDoubleRoundoff);
  e.e_ref = g * g * condition[gemm::kTerms] + (n + 4) * 0x1p-1074;
  return e;
}

gemm::Element anything() {
  gemm::Element e;
  e.condition[gemm::kLargest] = e.e_ref = kInfinity;
  e.condition[gemm::kQuantum] = kNoQuantum;
  e.condition[gemm::kOperand] = 1;
  return e;
}

gemm::Element anything_not_finite() {
  gemm::Element e = anything();
  e.hi = std::numeric_limits<double>::quiet_NaN();
  e.e_ref = 0;
  let_differ(e);
  return e;
}

Reference blank_reference(const TensorSpec& tensor) {
  Reference reference = moved_reference(tensor);
  reference.bitwise = false;
  reference.conditions.assign(gemm::kConditions, std::vector<double>(reference.size()));
  return reference;
}

void store(Reference& reference, int64_t at, const gemm::Element& e) {
  const auto i = static_cast<size_t>(at);
  reference.hi[i] = e.hi;
  reference.lo[i] = e.lo;
  reference.e_ref[i] = e.e_ref;
  for (size_t k = 0; k < gemm::kConditions; ++k) reference.conditions[k][i] = e.condition[k];
}

gemm::Rule rule_of(DType dtype, const Contract& contract, double roundings, double products) {
  const int32_t unit = charged_accumulator(contract, dtype);
  gemm::Rule rule;
  rule.input = dtype;
  rule.flushes = contract.arithmetic.flushes_subnormals != 0;
  rule.rounding = gamma_n(roundings, unit_roundoff(accumulator_type(unit)));
  rule.underflow = (rule.flushes ? 4 * products + 8 : products) * underflow_error(unit, rule.flushes);
  rule.passed[rule.types++] = accumulator_type(unit);
  return rule;
}

gemm::Rule rule_of(DType dtype, const Contract& contract, int64_t terms) {
  const auto n = static_cast<double>(terms);
  return rule_of(dtype, contract, std::min(contract.depth(n) + 1, n), n);  // a product's own comes before the tree's
}

Bounds BlasOp::bounds(const Case& c, const Contract& contract, const Reference& reference) const {
  return bounds_of(rule_of(reference.dtype, contract, terms(c)), reference, 1, gemm::kPer);
}

std::string BlasOp::cap_violation(const Contract& contract) const {
  const std::string common = common_cap_violation(contract);
  return common.empty() ? summation_cap_violation(contract) : common;
}

Bounds MovingOp::bounds(const Case&, const Contract&, const Reference& reference) const {
  Bounds b;
  b.e_alg.resize(reference.size());
  b.evidence.assign(reference.size(), Evidence::exact);
  return b;
}

std::string MovingOp::cap_violation(const Contract& contract) const {
  const std::string common = common_cap_violation(contract);
  if (!common.empty() || contract.arithmetic.accumulator == ASSAY_ACC_NONE) return common;
  return "the accumulator must be none: nothing is computed";
}

Reference moved_reference(const TensorSpec& tensor) {
  Reference reference{.tensor = tensor.name, .dtype = tensor.dtype};
  for (auto* part : {&reference.hi, &reference.lo, &reference.e_ref}) {
    part->resize(static_cast<size_t>(tensor.elements()));
  }
  reference.bitwise = true;
  return reference;
}

std::vector<FieldSpec> norm_fields() {
  return {{.name = "n", .doc = "elements of a vector"},
          {.name = "batch", .doc = "vectors, a call each", .fallback = "1"},
          increment_field("incx"),
          domain_field(),
          dtype_field()};
}

std::vector<TensorSpec> norm_tensors(const Case& c, FillSpec fill) {
  const int64_t batch = c.integer("batch");
  return {vectors_tensor(c, "x", batch, c.integer("n"), c.integer("incx"), Role::input, std::move(fill)),
          real_tensor("r", dtype_of(c), batch, Role::output)};
}

std::vector<Sensitivity> norm_sensitivities(const Case& c) {
  if (!is_drawn(c) || c.integer("n") == 0 || c.integer("batch") < kEnough || c.integer("incx") <= 0) return {};
  return {{.what = "tensor x", .tensor = "x"}};
}

std::vector<RowIndependence> norm_row_independence(const Case& c, const char* result) {
  if (c.integer("n") == 0) return {};
  return {{.input = "x", .output = result}};
}

std::optional<Case> first_of_batch(const Case& c) {
  if (c.integer("batch") < 2) return std::nullopt;
  return c.with({{"batch", "1"}});
}

std::vector<TensorAxis> order_of_batch(const Case& c, const std::vector<const char*>& tensors) {
  std::vector<TensorAxis> all;
  if (c.integer("batch") < 2) return all;
  for (const char* tensor : tensors) all.push_back({tensor, 0});
  return all;
}

void add_norm_cases(CaseList& list) {
  for (const char* fields : {
           "n=0,dtype=f32",
           "n=1,batch=3,domain=complex,dtype=f64",
           "n=17,batch=16,incx=2,dtype=f32",
           "n=100,batch=16,dtype=f64",
           "n=33,batch=16,incx=3,domain=complex,dtype=f32",
           "n=63,batch=3,domain=complex,dtype=f32",  // a tail
           "n=15,batch=3,incx=-1,dtype=f64",
           "n=47,batch=9,dtype=f64,fill=huge",
           "n=33,batch=40,dtype=f32,fill=special",
           "n=10001,domain=complex,dtype=f64,fill=uniform",
       }) {
    list.add(Tier::smoke, fields);
  }
  add_vector_sweep(list, {.increments = {",batch=3", ",incx=2", ",batch=2", ",batch=3,incx=3", ",batch=16", ",incx=-1"},
                          .real = {""},
                          .complex = {""},
                          .fills = {"uniform", "cancelling", "scaled", "huge", "subnormal", "signed_zeros", "special",
                                    "nan_one", "ones", "integers", "negative"},
                          .fill_shape = "n=67"});
  for (const char* fields :
       {"n=7,incx=0,dtype=f32", "n=7,incx=0,domain=complex,dtype=f64", "n=40,incx=-3,dtype=f32",
        "n=100003,dtype=f32,fill=uniform", "n=100003,domain=complex,dtype=f32", "n=100003,incx=2,dtype=f64",
        "n=1000,batch=16,dtype=f32,fill=uniform,seeds=8", "n=1000,batch=16,domain=complex,dtype=f64,seeds=8"}) {
    list.add(Tier::ci, fields);
  }
}

bool is_drawn(const Case& c) {
  const std::string& fill = c.word("fill");
  return fill == "normal" || fill == "uniform" || fill == "negative";
}

Sensitivity halved(const Case& c, const char* scalar) {
  return {.what = scalar, .changed = c.with({{scalar, print_number(c.real(scalar) / 2)}})};
}

const std::vector<std::string>& kinds() {
  static const std::vector<std::string> kKinds{",dtype=f32", ",dtype=f64", ",domain=complex,dtype=f32",
                                               ",domain=complex,dtype=f64"};
  return kKinds;
}

void add_vector_sweep(CaseList& list, const VectorSweep& sweep) {
  const auto ending = [&](size_t turn, size_t kind) {
    const std::vector<std::string>& endings = kind < 2 ? sweep.real : sweep.complex;
    return endings[turn % endings.size()];
  };
  const auto length = [](int64_t n) { return "n=" + std::to_string(n); };
  // What takes turns with the length and with the kind meets each increment with each kind.
  const size_t count = sweep.increments.size();
  size_t turn = 0;
  for (const int64_t n : {0, 1, 2, 3, 5, 7, 8, 15, 16, 17, 31, 33, 63, 65, 100, 127, 257, 1000, 10001, 20011}) {
    for (size_t kind = 0; kind < kinds().size(); ++kind) {
      for (size_t i = 0; i < count; ++i) {
        const bool in_ci = (turn + kind) % 2 == 0 && i == (turn / 2 + 3 * kind) % count;
        list.add(in_ci ? Tier::ci : Tier::nightly,
                 length(n) + sweep.increments[i] + ending(turn / 2 + i, kind) + kinds()[kind]);
      }
    }
    ++turn;
  }
  turn = 0;
  for (const std::string& fill : sweep.fills) {
    for (size_t kind = 0; kind < kinds().size(); ++kind) {
      const std::string fields = sweep.fill_shape +
                                 sweep.increments[turn / 2 % 2 == 0 ? 0 : (turn / 2 + 3 * kind) % count] +
                                 ending(turn / 2, kind) + kinds()[kind] + ",fill=" + fill;
      list.add((turn + kind) % 2 == 0 ? Tier::ci : Tier::nightly, fields);
    }
    ++turn;
  }
  const std::vector<std::string> layouts{"", ",offset=1", ",place=start", ",offset=3,place=start"};
  for (size_t i = 0; i < layouts.size(); ++i) {
    for (size_t kind = 0; kind < kinds().size(); ++kind) {
      list.add(i == kind ? Tier::ci : Tier::nightly, "n=97" + ending(i, kind) + kinds()[kind] + layouts[i]);
    }
  }
  Draw draw(20263);
  for (int i = 0; i < 60; ++i) {
    const auto kind = static_cast<size_t>(draw.below(kinds().size()));
    const std::string increments = draw.one_of(sweep.increments);
    list.add(Tier::nightly, length(draw.log_uniform(12)) + increments + ending(draw.below(64), kind) + kinds()[kind] +
                                draw.one_of(layouts) + ",seed=" + std::to_string(100 + i));
  }
}

}  // namespace assay::blas
