// The BLAS dot product: r = sum_i x_i y_i, of complex vectors without (?dotu) or with x conjugated (?dotc); of f32 also
// summed and returned in f64 (dsdot). Of `batch` pairs of vectors, one call each. Of no elements it is 0.
#include "core/error.h"
#include "reference/blas.h"
#include "reference/probe_list.h"

namespace assay {
namespace blas_dot {
namespace {

using namespace blas;

constexpr int kX = 0, kY = 1, kR = 2;

// Pairs of x that nearly cancel meet equal elements of y; huge ones meet such that few sums overflow.
FillSpec fill_of_y(const Case& c) {
  const std::string& fill = c.word("fill");
  if (fill == "cancelling") return {.generator = "constant"};
  if (is_probe(c)) {
    const bool has_partner = fill == "probe_spine" || fill == "probe_fused" || fill == "probe_order";
    return {.generator = has_partner ? fill + "_partner" : "ones"};
  }
  if (fill == "huge") return {.generator = "uniform", .scale = 2 / std::max(c.real("n"), 1.0)};
  const bool alike = fill == "uniform" || fill == "integers" || fill == "negative" || fill == "ones";
  return {.generator = alike ? fill : "normal"};
}

class DotOp final : public BlasOp {
 public:
  std::string_view name() const override { return "blas_dot"; }
  std::string_view summary() const override { return "r = sum of x_i y_i (BLAS ?dot, ?dotu, ?dotc, dsdot)"; }

  std::vector<FieldSpec> fields() const override {
    return {{.name = "n", .doc = "elements of a vector"},
            {.name = "batch", .doc = "pairs of vectors, a call each", .fallback = "1"},
            increment_field("incx"),
            increment_field("incy"),
            {.name = "conj",
             .kind = FieldKind::word,
             .doc = "y: x is conjugated (?dotc)",
             .fallback = "n",
             .choices = {"n", "y"}},
            {.name = "out",
             .kind = FieldKind::word,
             .doc = "f64: of f32 vectors, summed in f64 (dsdot)",
             .fallback = "same",
             .choices = {"same", "f64"}},
            domain_field(),
            dtype_field()};
  }

  std::vector<Case> cases(Tier tier) const override {
    CaseList list(*this, tier);
    for (const char* fields : {
             "n=0,dtype=f32",
             "n=1,batch=3,domain=complex,dtype=f64",
             "n=17,batch=5,incx=2,incy=-1,dtype=f32",
             "n=100,batch=16,dtype=f64",
             "n=33,batch=16,incx=-3,incy=2,conj=y,domain=complex,dtype=f32",
             "n=65,batch=4,incx=0,out=f64,dtype=f32",
             "n=47,batch=9,dtype=f64,fill=cancelling",
             "n=33,batch=40,dtype=f32,fill=special",
             "n=10001,domain=complex,dtype=f64,fill=uniform",
         }) {
      list.add(Tier::smoke, fields);
    }
    add_vector_sweep(list, {.increments = {",batch=3", ",incx=2,incy=3", ",batch=2,incx=-1", ",incy=-3,batch=2",
                                           ",incx=-2,incy=-1", ",incx=0,incy=2", ",incy=0", ",incx=-4,incy=3"},
                            .real = {""},
                            .complex = {"", ",conj=y"},
                            .fills = {"uniform", "cancelling", "scaled", "huge", "subnormal", "signed_zeros", "special",
                                      "nan_one", "ones", "integers", "negative"}});
    for (const char* fields :
         {"n=100,batch=40,out=f64,dtype=f32", "n=1000,incx=-2,out=f64,dtype=f32,fill=uniform",
          "n=67,batch=3,out=f64,dtype=f32,fill=huge", "n=10001,out=f64,incy=3,dtype=f32",
          "n=100003,dtype=f32,fill=uniform", "n=100003,conj=y,domain=complex,dtype=f32",
          "n=1000,batch=16,dtype=f32,fill=uniform,seeds=8", "n=1000,batch=16,domain=complex,dtype=f64,seeds=8"}) {
      list.add(Tier::ci, fields);
    }
    return list.take();
  }

  // x holds the terms, a pair of vectors being a sum, and y ones, but where a product needs both factors.
  std::vector<ProbeSet> probes() const override {
    constexpr int64_t kFew = 64, kSome = 128, kMany = 4096;
    const auto sizes = [](int64_t batch, int64_t n, const char* fill) {
      return "n=" + std::to_string(n) + ",batch=" + std::to_string(batch) + ",fill=" + fill;
    };
    std::vector<ProbeSet> all;
    for (const DType type : {DType::f64, DType::f32}) {
      ProbeList list(*this, "dtype=" + std::string(name_of(type)), "r");
      list.add(Reveals::tree, sizes(probe::pair_rows(kFew), kFew, "probe_pairs"), kFew);
      list.add(Reveals::spine, sizes(spine_rows(type), kMany, "probe_spine"), kMany);
      list.add(Reveals::spine_half, sizes(spine_rows(type), kMany / 2, "probe_spine"), kMany / 2);
      list.add(Reveals::near, sizes(probe::kLadderRows, kSome, "probe_near"), kSome);
      list.add(Reveals::far, sizes(probe::kLadderRows, kSome, "probe_far"), kSome);
      list.add(Reveals::ends, sizes(probe::kLadderSteps, kMany, "probe_ends"), kMany);
      list.add(Reveals::input_bits, sizes(probe::kBitsRows, kFew, "probe_bits"), kFew);
      list.add(Reveals::fused_multiply, sizes(probe::fused_rows(kFew), kFew, "probe_fused"), kFew);
      list.add(Reveals::subnormals, sizes(16, kFew, "probe_subnormal"), kFew);
      list.add(Reveals::order, sizes(64, 1024, "probe_order"), 1024);
      list.add(Reveals::order_alone, sizes(1, 1024, "probe_order"), 1024);
      all.push_back(list.take());
    }
    return all;
  }

  std::vector<TensorSpec> own_tensors(const Case& c) const override {
    const int64_t n = c.integer("n"), batch = c.integer("batch");
    if (c.word("conj") == "y" && !is_complex(c)) {
      throw UsageError("case of blas_dot: field 'conj' = 'y' has no meaning in domain=real; leave it out");
    }
    const bool wide = c.word("out") == "f64";
    if (wide && (is_complex(c) || dtype_of(c) == DType::f64)) {
      throw UsageError("case of blas_dot: field 'out' = 'f64' is of real vectors of dtype=f32 alone; leave it out");
    }
    std::vector<TensorSpec> all{
        vectors_tensor(c, "x", batch, n, c.integer("incx"), Role::input, {.generator = c.word("fill")}),
        vectors_tensor(c, "y", batch, n, c.integer("incy"), Role::input, fill_of_y(c)),
        vector_tensor(c, "r", batch, 1, Role::output)};
    if (wide) all[kR].dtype = DType::f64;
    return all;
  }

  std::vector<Reference> oracle(const Case& c, std::span<const TensorView> tensors, int threads) const override {
    const int64_t n = c.integer("n"), batch = c.integer("batch"), incx = c.integer("incx"), incy = c.integer("incy");
    const int64_t parts = parts_of(c);
    const double sign = c.word("conj") == "y" ? -1 : 1;
    Reference r = blank_reference(*tensors[kR].spec);
#pragma omp parallel for num_threads(threads) if (threads > 1 && n * batch > kWorthThreads)
    for (int64_t entry = 0; entry < batch; ++entry) {
      const Vector x(c, tensors[kX], n, incx, entry), y(c, tensors[kY], n, incy, entry);
      Products re(parts == 2), im(true);
      for (int64_t i = 0; i < n; ++i) {
        re.add(x(i), y(i));
        if (parts == 1) continue;
        re.add(-sign * x(i, 1), y(i, 1));
        im.add(x(i), y(i, 1));
        im.add(sign * x(i, 1), y(i));
      }
      store(r, entry * parts, re.finish());
      if (parts == 2) store(r, entry * parts + 1, im.finish());
    }
    return {r};
  }

  std::vector<Sensitivity> sensitivities(const Case& c) const override {
    if (!is_drawn(c) || c.integer("n") == 0 || c.integer("batch") < kEnough) return {};
    return {{.what = "tensor x", .tensor = "x"}, {.what = "tensor y", .tensor = "y"}};
  }

  std::vector<RowIndependence> row_independence(const Case& c) const override {
    if (c.integer("n") == 0) return {};
    return {{.input = "x", .output = "r"}, {.input = "y", .output = "r"}};
  }

  std::optional<Case> leading_part(const Case& c) const override { return first_of_batch(c); }

  std::vector<TensorAxis> row_order(const Case& c) const override { return order_of_batch(c, {"x", "y", "r"}); }

  // The last of both where the last elements of both tensors are.
  std::optional<Case> more_terms(const Case& c) const override {
    if (c.integer("n") == 0 || c.integer("incx") <= 0 || c.integer("incy") <= 0) return std::nullopt;
    return longer(c, "n");
  }

  std::vector<ScaleRelation> scale_relations(const Case& c) const override {
    const std::string& fill = c.word("fill");
    if (fill == "huge" || fill == "subnormal") return {};
    return {{.input = "x", .output = "r"}, {.input = "y", .output = "r"}};
  }

 protected:
  int64_t terms(const Case& c) const override { return c.integer("n") * parts_of(c); }

 private:
  static constexpr int64_t kWorthThreads = int64_t{1} << 16;  // products
};

}  // namespace
}  // namespace blas_dot

std::unique_ptr<Op> make_blas_dot_op() { return std::make_unique<blas_dot::DotOp>(); }

}  // namespace assay
