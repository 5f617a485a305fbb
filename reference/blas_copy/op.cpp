// The BLAS copy y := x: bits are moved, the signs of zeros with them. A NaN must arrive as a NaN: the reference moves
// it as a number (3.12, dcopy.f), by which its payload may change.
#include "reference/blas.h"
#include "reference/math/caps.h"

namespace assay {
namespace blas_copy {
namespace {

using namespace blas;

constexpr int kX = 0, kY = 1;

class CopyOp final : public MovingOp {
 public:
  std::string_view name() const override { return "blas_copy"; }
  std::string_view summary() const override { return "y = x (BLAS ?copy)"; }

  std::vector<FieldSpec> fields() const override {
    return {{.name = "n", .doc = "elements of a vector"},
            increment_field("incx"),
            increment_field("incy"),
            domain_field(),
            dtype_field()};
  }

  std::vector<Case> cases(Tier tier) const override {
    CaseList list(*this, tier);
    for (const char* fields : {
             "n=0,dtype=f32",
             "n=1,domain=complex,dtype=f32",
             "n=33,incx=2,incy=-1,dtype=f32",
             "n=100,dtype=f64,fill=special",
             "n=47,incx=-3,incy=2,domain=complex,dtype=f64",
             "n=9,incx=0,incy=2,dtype=f32",
             "n=65,dtype=f32,fill=signed_zeros",
             "n=10001,dtype=f64",
         }) {
      list.add(Tier::smoke, fields);
    }
    add_vector_sweep(list, {.increments = {"", ",incx=2,incy=3", ",incx=-1", ",incy=-3", ",incx=-2,incy=-1", ",incy=-1",
                                           ",incx=-4,incy=3"},
                            .real = {""},
                            .complex = {""},
                            .fills = {"scaled", "huge", "subnormal", "signed_zeros", "special", "nan_one", "index"}});
    // Of one element for all of y; longer ones would prove little.
    for (const char* fields : {"n=1,incx=0,dtype=f64", "n=3,incx=0,incy=-2,domain=complex,dtype=f32",
                               "n=31,incx=0,dtype=f32", "n=15,incx=0,incy=3,domain=complex,dtype=f64",
                               "n=100003,dtype=f32", "n=100003,incy=-2,domain=complex,dtype=f64"}) {
      list.add(Tier::ci, fields);
    }
    return list.take();
  }

  std::vector<TensorSpec> own_tensors(const Case& c) const override {
    const int64_t n = c.integer("n");
    require_apart(c, "incy");
    return {vector_tensor(c, "x", n, c.integer("incx"), Role::input, {.generator = c.word("fill")}),
            vector_tensor(c, "y", n, c.integer("incy"), Role::output)};
  }

  std::vector<Reference> oracle(const Case& c, std::span<const TensorView> tensors, int) const override {
    const int64_t n = c.integer("n"), incy = c.integer("incy"), parts = parts_of(c);
    const Vector x(c, tensors[kX], n, c.integer("incx"));
    Reference y = moved_reference(*tensors[kY].spec);
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t part = 0; part < parts; ++part) {
        y.hi[static_cast<size_t>(place_of(i, n, incy) * parts + part)] = one_nan(x(i, part));
      }
    }
    return {y};
  }

  std::vector<Sensitivity> sensitivities(const Case& c) const override {
    if (!is_drawn(c) || c.integer("n") < kEnough) return {};
    return {{.what = "tensor x", .tensor = "x"}};
  }

  std::vector<RowIndependence> row_independence(const Case& c) const override {
    if (!run_together(c)) return {};
    return {{.input = "x", .output = "y"}};
  }
};

}  // namespace
}  // namespace blas_copy

std::unique_ptr<Op> make_blas_copy_op() { return std::make_unique<blas_copy::CopyOp>(); }

}  // namespace assay
