#include "reference/blas_matrix.h"

#include <utility>

#include "core/error.h"
#include "reference/moderate_factors.h"

namespace assay::blas {

FieldSpec choice_field(const char* name, const char* doc, std::vector<std::string> choices) {
  FieldSpec spec{.name = name, .kind = FieldKind::word, .doc = doc};
  spec.fallback = choices.front();
  spec.choices = std::move(choices);
  return spec;
}

FieldSpec transposed_field(const char* name) {
  return choice_field(name, "t: transposed, c: and conjugated", {"n", "t", "c"});
}

std::vector<FieldSpec> joined(const std::vector<std::vector<FieldSpec>>& lists) {
  std::vector<FieldSpec> all;
  for (const std::vector<FieldSpec>& list : lists) all.insert(all.end(), list.begin(), list.end());
  return all;
}

int64_t increment_of(const Case& c, const char* name) {
  const int64_t inc = c.integer(name);
  if (inc != 0) return inc;
  throw UsageError("case of " + c.op() + ": field '" + name + "' is 0, which this function has no meaning for; give 1");
}

void require_complex(const Case& c, const char* name, const std::string& value) {
  if (is_complex(c) || c.word(name) != value) return;
  throw UsageError("case of " + c.op() + ": field '" + name + "' = '" + value +
                   "' has no meaning in domain=real; leave it out, or give domain=complex");
}

FillSpec along(int axis, FillSpec fill) {
  fill.axis = axis;
  return fill;
}

Matrix::Matrix(const Case& c, const TensorView& view, const std::string& transposed)
    : view_(&view),
      row_stride_(view.spec->strides[0]),
      column_stride_(view.spec->strides[1]),
      is_complex_(is_complex(c)),
      conjugated_(transposed == "c" && is_complex(c)) {
  if (transposed != "n") std::swap(row_stride_, column_stride_);
}

Complex Matrix::operator()(int64_t i, int64_t j) const {
  const DType dtype = view_->spec->dtype;
  const int64_t at = i * row_stride_ + j * column_stride_;
  const double re = load(dtype, view_->data, at), im = is_complex_ ? load(dtype, view_->data, at + 1) : 0;
  return {re, conjugated_ ? -im : im};
}

Parts untouched(Complex old) {
  Parts parts;
  for (gemm::Element& e : parts) {
    e.condition[gemm::kQuantum] = kNoQuantum;
    e.condition[gemm::kOperand] = 1;
  }
  parts[0].hi = is_nan(old.re) ? std::numeric_limits<double>::quiet_NaN() : old.re;
  parts[1].hi = is_nan(old.im) ? std::numeric_limits<double>::quiet_NaN() : old.im;
  return parts;
}

Bounds ProductOp::bounds(const Case& c, const Contract& contract, const Reference& reference) const {
  return bounds_of(product_rule(c, contract, terms(c)), reference, 1, gemm::kPer);
}

std::vector<Sensitivity> changes(const Case& c, int64_t outputs, const std::vector<const char*>& scalars,
                                 const std::vector<const char*>& tensors) {
  if (!is_drawn(c) || outputs < kEnough || !has_moderate_factors(c)) return {};
  std::vector<Sensitivity> all;
  for (const char* name : scalars) {
    const std::string im = std::string(name) + "_im";
    all.push_back({.what = name,
                   .changed = c.with({{name, print_number(c.real(name) / 2)}, {im, print_number(c.real(im) / 2)}})});
  }
  for (const char* name : tensors) all.push_back({.what = std::string("tensor ") + name, .tensor = name});
  return all;
}

std::string factor(Draw& draw, const char* name, size_t kind) {
  static const std::vector<std::string> kReal{"", "", "=0", "=1", "=-1", "=0.30000001192092896", "=-0.75"};
  static const std::vector<std::string> kImaginary{"", "", "=1", "=-0.30000001192092896"};
  std::string fields;
  const std::string &re = draw.one_of(kReal), &im = draw.one_of(kImaginary);
  if (!re.empty()) fields += std::string(",") + name + re;
  if (kind >= 2 && !im.empty()) fields += std::string(",") + name + "_im" + im;
  return fields;
}

}  // namespace assay::blas
