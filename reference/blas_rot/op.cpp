// The BLAS plane rotation (x, y) := (c x + s y, c y - s x) with real c and s, also of complex vectors (csrot, zdrot).
#include "core/error.h"
#include "reference/blas.h"
#include "reference/moderate_factors.h"

namespace assay {
namespace blas_rot {
namespace {

using namespace blas;

constexpr int kX = 0, kY = 1;

class RotOp final : public BlasOp {
 public:
  std::string_view name() const override { return "blas_rot"; }
  std::string_view summary() const override { return "x, y = c x + s y, c y - s x (BLAS ?rot, csrot, zdrot)"; }

  std::vector<FieldSpec> fields() const override {
    return {{.name = "n", .doc = "elements of a vector"},
            {.name = "c", .kind = FieldKind::real, .doc = "cosine"},
            {.name = "s", .kind = FieldKind::real, .doc = "sine"},
            increment_field("incx"),
            increment_field("incy"),
            domain_field(),
            dtype_field()};
  }

  std::vector<Case> cases(Tier tier) const override {
    CaseList list(*this, tier);
    for (const char* fields : {
             "n=0,c=0.75,s=0.5,dtype=f32",
             "n=1,c=0,s=1,domain=complex,dtype=f32",
             "n=33,c=0.6000000238418579,s=0.800000011920929,incx=2,incy=-1,dtype=f32",
             "n=65,c=1,s=0,dtype=f64",
             "n=47,c=-0.6,s=0.8,incx=-3,incy=2,domain=complex,dtype=f64",
             "n=100,c=0.75,s=-0.5,dtype=f64,fill=special",
             "n=10001,c=0.75,s=0.5,dtype=f32",
         }) {
      list.add(Tier::smoke, fields);
    }
    const std::vector<std::string> rotations{",c=0.6000000238418579,s=0.800000011920929", ",c=0,s=1", ",c=1,s=0",
                                             ",c=-0.75,s=0.5", ",c=0,s=-1"};
    add_vector_sweep(list, {.increments = {"", ",incx=2,incy=3", ",incx=-1", ",incy=-3", ",incx=-2,incy=-1", ",incy=-1",
                                           ",incx=-4,incy=3"},
                            .real = rotations,
                            .complex = rotations,
                            .fills = {"uniform", "scaled", "huge", "subnormal", "signed_zeros", "special", "nan_one",
                                      "ones", "integers", "negative"}});
    for (const char* fields : {"n=100003,c=0.75,s=0.5,dtype=f32", "n=100003,c=0.6,s=0.8,domain=complex,dtype=f64",
                               "n=1000,c=0.6000000238418579,s=0.800000011920929,dtype=f32,seeds=8",
                               "n=1000,c=0.6,s=0.8,domain=complex,dtype=f64,seeds=8"}) {
      list.add(Tier::ci, fields);
    }
    return list.take();
  }

  std::vector<TensorSpec> own_tensors(const Case& c) const override {
    const int64_t n = c.integer("n");
    for (const char* increment : {"incx", "incy"}) require_apart(c, increment);
    for (const char* name : {"c", "s"}) real_scalar_of(c, name);
    const FillSpec fill{.generator = c.word("fill"), .scale = c.word("fill") == "huge" ? 0.5 : 1};
    return {vector_tensor(c, "x", n, c.integer("incx"), Role::inout, fill),
            vector_tensor(c, "y", n, c.integer("incy"), Role::inout, fill)};
  }

  std::vector<Reference> oracle(const Case& c, std::span<const TensorView> tensors, int) const override {
    const int64_t n = c.integer("n"), incx = c.integer("incx"), incy = c.integer("incy"), parts = parts_of(c);
    const double cosine = real_scalar_of(c, "c"), sine = real_scalar_of(c, "s");
    const Vector x(c, tensors[kX], n, incx), y(c, tensors[kY], n, incy);
    Reference rx = blank_reference(*tensors[kX].spec), ry = blank_reference(*tensors[kY].spec);
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t part = 0; part < parts; ++part) {
        Products of_x, of_y;
        of_x.add_scaled(cosine, x(i, part));
        of_x.add_scaled(sine, y(i, part));
        of_y.add_scaled(cosine, y(i, part));
        of_y.add_scaled(-sine, x(i, part));
        store(rx, place_of(i, n, incx) * parts + part, of_x.finish());
        store(ry, place_of(i, n, incy) * parts + part, of_y.finish());
      }
    }
    return {rx, ry};
  }

  std::vector<Sensitivity> sensitivities(const Case& c) const override {
    if (!is_drawn(c) || c.integer("n") < kEnough || !has_moderate_factors(c)) return {};
    std::vector<Sensitivity> all;
    for (const char* name : {"c", "s"}) {
      if (c.real(name) != 0) all.push_back(halved(c, name));
    }
    if (all.empty()) return all;
    all.push_back({.what = "tensor x", .tensor = "x"});
    all.push_back({.what = "tensor y", .tensor = "y"});
    return all;
  }

  std::vector<RowIndependence> row_independence(const Case& c) const override {
    if (!run_together(c)) return {};
    return {{.input = "x", .output = "x"},
            {.input = "x", .output = "y"},
            {.input = "y", .output = "x"},
            {.input = "y", .output = "y"}};
  }

 protected:
  int64_t terms(const Case&) const override { return 2; }
};

}  // namespace
}  // namespace blas_rot

std::unique_ptr<Op> make_blas_rot_op() { return std::make_unique<blas_rot::RotOp>(); }

}  // namespace assay
