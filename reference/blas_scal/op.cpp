// The BLAS scaling x := alpha x, of complex vectors also by a real number (csscal, zdscal). An increment of 0 or less
// returns at once, with x as it was. 0 x of an infinity or NaN is NaN by the reference BLAS, and 0 by implementations
// that store zeros then (OpenBLAS did so until its pull request 4729): either is let pass, and counts as no evidence.
// So it is with the imaginary part that a real factor is given (zdscal of the reference BLAS before 3.10) or not.
#include "core/error.h"
#include "reference/blas.h"
#include "reference/moderate_factors.h"

namespace assay {
namespace blas_scal {
namespace {

using namespace blas;

class ScalOp final : public BlasOp {
 public:
  std::string_view name() const override { return "blas_scal"; }
  std::string_view summary() const override { return "x = alpha x (BLAS ?scal, csscal, zdscal)"; }

  std::vector<FieldSpec> fields() const override {
    std::vector<FieldSpec> all{{.name = "n", .doc = "elements of a vector"}};
    for (FieldSpec& field : scalar_fields("alpha", "factor", "1")) all.push_back(std::move(field));
    all.push_back({.name = "by",
                   .kind = FieldKind::word,
                   .doc = "real: of complex vectors, by a real number (csscal, zdscal)",
                   .fallback = "same",
                   .choices = {"same", "real"}});
    all.push_back(increment_field("incx"));
    all.push_back(domain_field());
    all.push_back(dtype_field());
    return all;
  }

  std::vector<Case> cases(Tier tier) const override {
    CaseList list(*this, tier);
    for (const char* fields : {
             "n=0,alpha=2,dtype=f32",
             "n=1,alpha=-0.75,domain=complex,dtype=f32",
             "n=33,alpha=1.2000000476837158,incx=2,dtype=f32",
             "n=65,alpha=0,dtype=f64,fill=special",
             "n=47,alpha=0.5,alpha_im=-1.5,incx=3,domain=complex,dtype=f64",
             "n=31,alpha=3,incx=-1,dtype=f32",
             "n=40,alpha=-0.7,by=real,domain=complex,dtype=f64",
             "n=10001,alpha=0.75,dtype=f32",
         }) {
      list.add(Tier::smoke, fields);
    }
    add_vector_sweep(list, {.increments = {"", ",incx=2", ",incx=-1", ",incx=3"},
                            .real = {",alpha=-0.75", ",alpha=0", ",alpha=-1", "", ",alpha=0.30000001192092896"},
                            .complex = {",alpha=-0.75,alpha_im=0.30000001192092896", ",alpha=0", ",alpha=-1,by=real",
                                        ",alpha=0,alpha_im=1.5", ",alpha=0.5", ",alpha=0,by=real", ""},
                            .fills = {"uniform", "scaled", "huge", "subnormal", "signed_zeros", "special", "nan_one",
                                      "ones", "integers", "negative"}});
    for (const char* fields :
         {"n=100,alpha=0,dtype=f32,fill=special", "n=100,alpha=0,incx=2,dtype=f64,fill=special",
          "n=100,alpha=0,domain=complex,dtype=f32,fill=special", "n=100,alpha=0,domain=complex,dtype=f64,fill=nan_one",
          "n=100,alpha=2,domain=complex,dtype=f32,fill=special", "n=100,alpha=2,domain=complex,dtype=f64,fill=special",
          "n=100,alpha=0,alpha_im=2,domain=complex,dtype=f64,fill=special",
          "n=100,alpha=0,by=real,domain=complex,dtype=f32,fill=special", "n=100003,alpha=0.75,dtype=f32",
          "n=1048583,alpha=0.75,dtype=f32", "n=100003,alpha=0.5,alpha_im=2,domain=complex,dtype=f64",
          "n=1000,alpha=0.30000001192092896,dtype=f32,seeds=8",
          "n=1000,alpha=0.3,alpha_im=-0.7,domain=complex,dtype=f64,seeds=8"}) {
      list.add(Tier::ci, fields);
    }
    return list.take();
  }

  std::vector<TensorSpec> own_tensors(const Case& c) const override {
    require_apart(c, "incx");
    const Complex alpha = scalar_of(c, "alpha");
    if (by_real(c) && (!is_complex(c) || alpha.im != 0)) {
      throw UsageError("case of blas_scal: field 'by' = 'real' is of domain=complex and alpha_im = 0; leave it out");
    }
    // Nothing but zeros come of alpha = 0, and prove nothing of random numbers.
    const bool vanishes = alpha.is_zero() && c.integer("incx") > 0 && is_drawn(c);
    return {vector_tensor(c, "x", c.integer("n"), c.integer("incx"), Role::inout,
                          {.generator = vanishes ? "integers" : c.word("fill")})};
  }

  std::vector<Reference> oracle(const Case& c, std::span<const TensorView> tensors, int) const override {
    const int64_t n = c.integer("n"), incx = c.integer("incx"), parts = parts_of(c);
    const Complex alpha = scalar_of(c, "alpha");
    const Vector x(c, tensors[0], n, incx);
    Reference r = blank_reference(*tensors[0].spec);
    for (int64_t i = 0; i < n; ++i) {
      const int64_t at = place_of(i, n, incx) * parts;
      if (incx <= 0 || parts == 1) {
        for (int64_t part = 0; part < parts; ++part) {
          Products only;
          incx > 0 ? only.add_scaled(alpha.re, x(i, part)) : only.add(1, x(i, part));
          store(r, at + part, only.finish());
        }
        continue;
      }
      Products re(true), im(true);
      add_scaled(re, im, alpha, x.complex(i));
      store(r, at, re.finish());
      store(r, at + 1, im.finish());
    }
    return {r};
  }

  std::vector<Sensitivity> sensitivities(const Case& c) const override {
    if (!is_drawn(c) || c.integer("n") < kEnough || !has_moderate_factors(c)) return {};
    if (c.integer("incx") < 0) return {{.what = "tensor x", .tensor = "x"}};
    std::vector<Sensitivity> all;
    if (!scalar_of(c, "alpha").is_zero()) all.push_back({.what = "tensor x", .tensor = "x"});
    for (const char* part : {"alpha", "alpha_im"}) {
      if (c.real(part) != 0) all.push_back(halved(c, part));
    }
    return all;
  }

  std::vector<RowIndependence> row_independence(const Case&) const override { return {{.input = "x", .output = "x"}}; }

  std::vector<ScaleRelation> scale_relations(const Case& c) const override {
    const std::string& fill = c.word("fill");
    if (fill == "huge" || fill == "subnormal") return {};
    return {{.input = "x", .output = "x"}};
  }

 protected:
  int64_t terms(const Case& c) const override { return by_real(c) ? 1 : parts_of(c); }

 private:
  static bool by_real(const Case& c) { return c.word("by") == "real"; }
};

}  // namespace
}  // namespace blas_scal

std::unique_ptr<Op> make_blas_scal_op() { return std::make_unique<blas_scal::ScalOp>(); }

}  // namespace assay
