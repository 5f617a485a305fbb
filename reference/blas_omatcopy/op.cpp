// The transposing copy of BLAS extensions, b := alpha op(a): op(a) is a, its transpose, its conjugate or both. 0 times
// an infinity or NaN is NaN, or 0 by implementations that store zeros then: either is let pass, and counts as no
// evidence.
#include "core/error.h"
#include "reference/blas.h"
#include "reference/moderate_factors.h"

namespace assay {
namespace blas_omatcopy {
namespace {

using namespace blas;

constexpr int kA = 0, kB = 1;

bool transposes(const Case& c) { return c.word("trans") == "t" || c.word("trans") == "c"; }
bool conjugates(const Case& c) { return c.word("trans") == "r" || c.word("trans") == "c"; }

class OmatcopyOp final : public BlasOp {
 public:
  std::string_view name() const override { return "blas_omatcopy"; }
  std::string_view summary() const override { return "b = alpha op(a) (BLAS extension ?omatcopy)"; }

  std::vector<FieldSpec> fields() const override {
    std::vector<FieldSpec> all{{.name = "rows", .doc = "of a"}, {.name = "cols", .doc = "columns of a"}};
    all.push_back(order_field());
    all.push_back({.name = "trans",
                   .kind = FieldKind::word,
                   .doc = "op: a as it is, t transposed, r conjugated, c both",
                   .fallback = "n",
                   .choices = {"n", "t", "r", "c"}});
    for (FieldSpec& field : scalar_fields("alpha", "factor", "1")) all.push_back(std::move(field));
    all.push_back(pad_field("pad_a"));
    all.push_back(pad_field("pad_b"));
    all.push_back(domain_field());
    all.push_back(dtype_field());
    return all;
  }

  std::vector<Case> cases(Tier tier) const override {
    CaseList list(*this, tier);
    for (const char* fields : {
             "rows=1,cols=1,trans=t,dtype=f32",
             "rows=17,cols=33,trans=t,dtype=f32",
             "rows=31,cols=15,order=col,trans=t,alpha=-0.75,pad_a=3,pad_b=1,dtype=f64",
             "rows=16,cols=16,alpha=2,pad_b=5,dtype=f32",
             "rows=9,cols=65,trans=c,alpha=0.5,alpha_im=-1.5,domain=complex,dtype=f32",
             "rows=7,cols=12,trans=r,order=col,domain=complex,dtype=f64",
             "rows=33,cols=5,trans=t,alpha=0,dtype=f64",
             "rows=40,cols=30,trans=t,dtype=f32,fill=special",
         }) {
      list.add(Tier::smoke, fields);
    }
    const std::vector<int64_t> sizes{0, 1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 31, 33, 63, 65, 100, 127, 257};
    const std::vector<std::string> scalars{"", ",alpha=-0.75", ",alpha=0", ",alpha=0.30000001192092896"};
    const std::vector<std::string> complex{"", ",alpha=-0.75,alpha_im=0.5", ",alpha=0", ",alpha=0,alpha_im=1.5"};
    const std::vector<std::string> ops{",trans=t", "", ",trans=c", ",trans=r"};
    const std::vector<std::string> pads{"", ",pad_a=3,pad_b=1", ",pad_b=5"};
    for (size_t i = 0; i < sizes.size(); ++i) {
      for (size_t kind = 0; kind < kinds().size(); ++kind) {
        for (const char* order : {"", ",order=col"}) {
          const size_t turn = i + kind + (*order == 0 ? 0 : 5);
          const std::string shape = "rows=" + std::to_string(sizes[i]) +
                                    ",cols=" + std::to_string(sizes[(5 * i + 3 * kind + 2) % sizes.size()]);
          const std::string& op = ops[(turn + turn / 4) % (kind < 2 ? 2 : 4)];
          const std::string& scalar = (kind < 2 ? scalars : complex)[(turn / 2) % 4];
          list.add((turn + kind / 2) % 2 == 0 ? Tier::ci : Tier::nightly,
                   shape + order + op + scalar + pads[turn % 3] + kinds()[kind]);
        }
      }
    }
    size_t turn = 0;
    for (const char* fill : {"scaled", "huge", "subnormal", "signed_zeros", "special", "nan_one", "index"}) {
      for (size_t kind = 0; kind < kinds().size(); ++kind, ++turn) {
        const std::string fields = "rows=23,cols=37" + ops[turn % (kind < 2 ? 2 : 4)] + ",fill=" + fill + kinds()[kind];
        list.add((turn / 4 + kind) % 2 == 0 ? Tier::ci : Tier::nightly, fields);
        list.add(Tier::nightly, fields + ",alpha=0.5,order=col" + pads[turn % 3]);
      }
    }
    for (const char* fields :
         {"rows=23,cols=37,trans=t,alpha=0,dtype=f32,fill=special", "rows=23,cols=37,alpha=0,dtype=f64,fill=special",
          "rows=23,cols=37,trans=c,alpha=0,domain=complex,dtype=f32,fill=special",
          "rows=23,cols=37,alpha=2,trans=t,domain=complex,dtype=f64,fill=special",
          "rows=1000,cols=257,trans=t,dtype=f32", "rows=257,cols=1000,trans=c,domain=complex,dtype=f64",
          "rows=3,cols=4097,trans=t,dtype=f64", "rows=4097,cols=3,order=col,trans=t,dtype=f32",
          "rows=29,cols=31,trans=t,dtype=f32,offset=1", "rows=29,cols=31,trans=t,domain=complex,dtype=f32,offset=1",
          "rows=29,cols=31,trans=t,pad_a=3,dtype=f64,place=start", "rows=1000,cols=1,trans=t,dtype=f32",
          "rows=1,cols=1000,trans=t,pad_b=2,dtype=f64"}) {
      list.add(Tier::ci, fields);
    }
    return list.take();
  }

  std::vector<TensorSpec> own_tensors(const Case& c) const override {
    const int64_t rows = c.integer("rows"), cols = c.integer("cols");
    if (conjugates(c) && !is_complex(c)) {
      throw UsageError("case of blas_omatcopy: field 'trans' = '" + c.word("trans") +
                       "' has no meaning in domain=real; give trans=n or trans=t");
    }
    // Nothing but zeros come of alpha = 0, and prove nothing of random numbers.
    const bool vanishes = scalar_of(c, "alpha").is_zero() && is_drawn(c);
    const bool turned = transposes(c);
    return {matrix_tensor(c, "a", rows, cols, c.integer("pad_a"), Role::input,
                          {.generator = vanishes ? "integers" : c.word("fill")}),
            matrix_tensor(c, "b", turned ? cols : rows, turned ? rows : cols, c.integer("pad_b"), Role::output)};
  }

  std::vector<Reference> oracle(const Case& c, std::span<const TensorView> tensors, int threads) const override {
    const int64_t rows = c.integer("rows"), cols = c.integer("cols"), parts = parts_of(c);
    const Complex alpha = scalar_of(c, "alpha");
    const double sign = conjugates(c) ? -1 : 1;
    const bool turned = transposes(c);
    const TensorView& a = tensors[kA];
    Reference b = blank_reference(*tensors[kB].spec);
#pragma omp parallel for num_threads(threads) if (threads > 1 && rows * cols > kWorthThreads)
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < cols; ++j) {
        const int64_t from = (i * cols + j) * parts, to = (turned ? j * rows + i : i * cols + j) * parts;
        Products re(parts == 2), im(true);
        if (parts == 1) {
          re.add_scaled(alpha.re, a.at(from));
        } else {
          add_scaled(re, im, alpha, {a.at(from), sign * a.at(from + 1)});
          store(b, to + 1, im.finish());
        }
        store(b, to, re.finish());
      }
    }
    return {b};
  }

  std::vector<Sensitivity> sensitivities(const Case& c) const override {
    if (!is_drawn(c) || c.integer("rows") * c.integer("cols") < kEnough || !has_moderate_factors(c)) return {};
    if (scalar_of(c, "alpha").is_zero()) return {};
    std::vector<Sensitivity> all{{.what = "tensor a", .tensor = "a"}};
    for (const char* part : {"alpha", "alpha_im"}) {
      if (c.real(part) != 0) all.push_back(halved(c, part));
    }
    return all;
  }

  std::vector<RowIndependence> row_independence(const Case& c) const override {
    const int axis = transposes(c) ? 1 : 0;
    return {{.input = "a", .input_axis = 0, .output = "b", .output_axis = axis},
            {.input = "a", .input_axis = 1, .output = "b", .output_axis = 1 - axis}};
  }

  std::vector<ScaleRelation> scale_relations(const Case& c) const override {
    const std::string& fill = c.word("fill");
    if (fill == "huge" || fill == "subnormal") return {};
    return {{.input = "a", .output = "b"}};
  }

  std::vector<TensorAxis> row_order(const Case& c) const override {
    if (c.integer("rows") < 2) return {};
    return {{"a", 0}, {"b", transposes(c) ? 1 : 0}};
  }

 protected:
  int64_t terms(const Case& c) const override { return parts_of(c); }

 private:
  static constexpr int64_t kWorthThreads = int64_t{1} << 16;  // elements
};

}  // namespace
}  // namespace blas_omatcopy

std::unique_ptr<Op> make_blas_omatcopy_op() { return std::make_unique<blas_omatcopy::OmatcopyOp>(); }

}  // namespace assay
