// The BLAS update y := alpha x + y. With alpha = 0 x is not read.
#include "core/error.h"
#include "reference/blas.h"
#include "reference/moderate_factors.h"

namespace assay {
namespace blas_axpy {
namespace {

using namespace blas;

constexpr int kX = 0, kY = 1;

class AxpyOp final : public BlasOp {
 public:
  std::string_view name() const override { return "blas_axpy"; }
  std::string_view summary() const override { return "y = alpha x + y (BLAS ?axpy)"; }

  std::vector<FieldSpec> fields() const override {
    std::vector<FieldSpec> all{{.name = "n", .doc = "elements of a vector"}};
    for (FieldSpec& field : scalar_fields("alpha", "factor of x; 0: x not read", "1")) all.push_back(std::move(field));
    for (const char* name : {"incx", "incy"}) all.push_back(increment_field(name));
    all.push_back(domain_field());
    all.push_back(dtype_field());
    return all;
  }

  std::vector<Case> cases(Tier tier) const override {
    CaseList list(*this, tier);
    for (const char* fields : {
             "n=0,dtype=f32",
             "n=1,alpha=-0.75,domain=complex,dtype=f32",
             "n=33,alpha=1.2000000476837158,incx=2,incy=-1,dtype=f32",
             "n=65,alpha=0,dtype=f64",
             "n=47,alpha=0.5,alpha_im=-1.5,incx=-3,incy=2,domain=complex,dtype=f64",
             "n=31,incx=0,dtype=f32",
             "n=100,alpha=-1,dtype=f64,fill=special",
             "n=10001,alpha=0.75,dtype=f32",
         }) {
      list.add(Tier::smoke, fields);
    }
    add_vector_sweep(list, {.increments = {"", ",incx=2,incy=3", ",incx=-1", ",incy=-3", ",incx=-2,incy=-1",
                                           ",incx=0,incy=2", ",incy=-1", ",incx=-4,incy=3"},
                            .real = {"", ",alpha=-0.75", ",alpha=0", ",alpha=-1", ",alpha=0.30000001192092896"},
                            .complex = {"", ",alpha=-0.75,alpha_im=0.30000001192092896", ",alpha=0", ",alpha=-1",
                                        ",alpha=0,alpha_im=1.5", ",alpha=0.5,alpha_im=0"},
                            .fills = {"uniform", "cancelling", "scaled", "huge", "subnormal", "signed_zeros", "special",
                                      "nan_one", "ones", "integers", "negative"}});
    for (const char* fields :
         {"n=100003,alpha=0.75,dtype=f32", "n=100003,alpha=0.5,alpha_im=2,domain=complex,dtype=f64",
          "n=20011,alpha=0.75,incx=0,incy=2,dtype=f64", "n=1000,alpha=0.30000001192092896,dtype=f32,seeds=8",
          "n=1000,alpha=0.3,alpha_im=-0.7,domain=complex,dtype=f64,seeds=8"}) {
      list.add(Tier::ci, fields);
    }
    return list.take();
  }

  std::vector<TensorSpec> own_tensors(const Case& c) const override {
    const int64_t n = c.integer("n");
    require_apart(c, "incy");
    const Complex alpha = scalar_of(c, "alpha");
    const std::string& fill = c.word("fill");
    std::vector<TensorSpec> all{
        vector_tensor(c, "x", n, c.integer("incx"), Role::input, {.generator = fill}),
        vector_tensor(c, "y", n, c.integer("incy"), Role::inout, {.generator = fill == "huge" ? "normal" : fill})};
    all[kX].is_read = !alpha.is_zero();
    return all;
  }

  std::vector<Reference> oracle(const Case& c, std::span<const TensorView> tensors, int) const override {
    const int64_t n = c.integer("n"), incx = c.integer("incx"), incy = c.integer("incy"), parts = parts_of(c);
    const Complex alpha = scalar_of(c, "alpha");
    const Vector x(c, tensors[kX], n, incx), y(c, tensors[kY], n, incy);
    Reference r = blank_reference(*tensors[kY].spec);
    for (int64_t i = 0; i < n; ++i) {
      Products re(parts == 2), im(true);
      re.add(1, y(i));
      if (parts == 2) im.add(1, y(i, 1));
      if (parts == 2 && !alpha.is_zero()) add_scaled(re, im, alpha, x.complex(i));
      if (parts == 1 && !alpha.is_zero()) re.add(alpha.re, x(i));
      const int64_t at = place_of(i, n, incy) * parts;
      store(r, at, re.finish());
      if (parts == 2) store(r, at + 1, im.finish());
    }
    return {r};
  }

  std::vector<Sensitivity> sensitivities(const Case& c) const override {
    if (!is_drawn(c) || c.integer("n") < kEnough || !has_moderate_factors(c)) return {};
    std::vector<Sensitivity> all{{.what = "tensor y", .tensor = "y"}};
    if (scalar_of(c, "alpha").is_zero()) return all;
    if (c.real("alpha") != 0) all.push_back(halved(c, "alpha"));
    if (c.real("alpha_im") != 0) all.push_back(halved(c, "alpha_im"));
    if (c.integer("incx") != 0) all.push_back({.what = "tensor x", .tensor = "x"});
    return all;
  }

  std::vector<RowIndependence> row_independence(const Case& c) const override {
    if (scalar_of(c, "alpha").is_zero() || !run_together(c)) return {};
    return {{.input = "x", .output = "y"}};
  }

 protected:
  int64_t terms(const Case& c) const override { return 1 + parts_of(c); }
};

}  // namespace
}  // namespace blas_axpy

std::unique_ptr<Op> make_blas_axpy_op() { return std::make_unique<blas_axpy::AxpyOp>(); }

}  // namespace assay
