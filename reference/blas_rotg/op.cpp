// The BLAS construction of a plane rotation: of a and b the c and s with c^2 + |s|^2 = 1 for which (c, s; -conj s, c)
// takes (a, b) to (r, 0). Of `n` pairs, one call each; a is overwritten by r and, of real numbers, b by z, which tells
// c and s. What is asked is netlib's BLAS 3.12 (E. Anderson, "Algorithm 978: Safe scaling in the level 1 BLAS", ACM
// TOMS 44(1), 2017), which does not overflow where r does not. oracle.h has the formulas and the bounds.
#include "core/error.h"
#include "reference/blas_rotg/oracle.h"

namespace assay {
namespace blas_rotg {
namespace {

using namespace blas;

constexpr int kA = 0, kB = 1, kC = 2, kS = 3;

class RotgOp final : public BlasOp {
 public:
  std::string_view name() const override { return "blas_rotg"; }
  std::string_view summary() const override {
    return "a, b, c, s = r, z and the rotation of (a, b) to (r, 0) (BLAS ?rotg)";
  }

  std::vector<FieldSpec> fields() const override {
    return {{.name = "n", .doc = "pairs, a call each"}, domain_field(), dtype_field()};
  }

  std::vector<Case> cases(Tier tier) const override {
    CaseList list(*this, tier);
    for (const char* fields : {
             "n=0,dtype=f32",
             "n=40,dtype=f32",
             "n=40,dtype=f64",
             "n=40,domain=complex,dtype=f32",
             "n=40,dtype=f64,fill=signed_zeros",
             "n=40,dtype=f32,fill=huge",
             "n=40,dtype=f32,fill=subnormal",
             "n=40,domain=complex,dtype=f64,fill=special",
         }) {
      list.add(Tier::smoke, fields);
    }
    for (const std::string& kind : kinds()) {
      const std::string of = kind.substr(1);
      for (const char* fill : {"normal", "uniform", "cancelling", "scaled", "huge", "subnormal", "signed_zeros",
                               "special", "nan_one", "ones", "integers", "negative", "onehot", "zeros", "index"}) {
        list.add(Tier::ci, of + ",n=67,fill=" + fill);
        list.add(Tier::nightly, of + ",n=1000,seed=2,fill=" + fill);
      }
      for (const char* rest : {",seeds=8", ",offset=1", ",place=start"}) list.add(Tier::ci, of + ",n=200" + rest);
      for (const int64_t n : edge_sizes()) list.add(Tier::nightly, of + ",n=" + std::to_string(n));
    }
    return list.take();
  }

  std::vector<TensorSpec> own_tensors(const Case& c) const override {
    const int64_t n = c.integer("n");
    const bool huge = c.word("fill") == "huge";  // r near the largest number, and beyond it of a third
    const FillSpec fill{.generator = c.word("fill"), .scale = huge ? 0.75 : 1};
    return {vector_tensor(c, "a", n, 1, Role::inout, fill),
            vector_tensor(c, "b", n, 1, is_complex(c) ? Role::input : Role::inout, fill),
            real_tensor("c", dtype_of(c), n, Role::output), vector_tensor(c, "s", n, 1, Role::output)};
  }

  std::vector<Reference> oracle(const Case& c, std::span<const TensorView> tensors, int) const override {
    const int64_t n = c.integer("n");
    const Vector a(c, tensors[kA], n, 1), b(c, tensors[kB], n, 1);
    Reference r = blank_reference(*tensors[kA].spec), z = blank_reference(*tensors[kB].spec);
    Reference cosine = blank_reference(*tensors[kC].spec), sine = blank_reference(*tensors[kS].spec);
    for (int64_t i = 0; i < n; ++i) {
      if (is_complex(c)) {
        const ComplexRotation of = rotation_of(a.complex(i), b.complex(i), dtype_of(c));
        store(cosine, i, of.c);
        for (int64_t part = 0; part < 2; ++part) {
          store(r, 2 * i + part, of.r[part]);
          store(sine, 2 * i + part, of.s[part]);
        }
      } else {
        const Rotation of = rotation_of(a(i), b(i), dtype_of(c));
        store(r, i, of.r);
        store(z, i, of.z);
        store(cosine, i, of.c);
        store(sine, i, of.s);
      }
    }
    if (is_complex(c)) return {r, cosine, sine};
    return {r, z, cosine, sine};
  }

  Bounds bounds(const Case& c, const Contract& contract, const Reference& reference) const override {
    const double roundings = is_complex(c) ? kComplexRoundings : kRealRoundings;
    return bounds_of(rule_of(reference.dtype, contract, roundings, roundings), reference, 1, gemm::kPer);
  }

  std::vector<Sensitivity> sensitivities(const Case& c) const override {
    if (!is_drawn(c) || c.integer("n") < kEnough) return {};
    return {{.what = "tensor a", .tensor = "a"}, {.what = "tensor b", .tensor = "b"}};
  }

  std::vector<RowIndependence> row_independence(const Case&) const override {
    return {{.input = "a", .output = "c"}, {.input = "b", .output = "s"}};
  }

 protected:
  int64_t terms(const Case&) const override { return 1; }
};

}  // namespace
}  // namespace blas_rotg

std::unique_ptr<Op> make_blas_rotg_op() { return std::make_unique<blas_rotg::RotgOp>(); }

}  // namespace assay
