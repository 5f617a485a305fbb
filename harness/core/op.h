// What an op is: the mathematical contract that a kernel is tested against. Each op lives in reference/<op>/ as op.cpp
// (a subclass of Op: fields, tensors, tiers, caps) and oracle.h (its high-precision reference). To add one: that
// folder, and one line in reference/CMakeLists.txt.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/case.h"
#include "core/contract.h"
#include "core/dtype.h"
#include "core/probe.h"
#include "core/support.h"

namespace assay {

enum class Role { input, output, inout };
enum class Tier { smoke, ci, nightly };

std::string_view name_of(Tier tier);
Tier tier_named(std::string_view name);  // throws UsageError

// How one tensor's elements are made: a named generator (fill/fill.h lists them) and its parameters. Values are a pure
// function of (fill, seed, tensor name, shape, logical row-major index), rounded to the tensor's dtype; where there is
// a support, they are zero but for the elements it keeps.
struct FillSpec {
  std::string generator = "normal";
  double scale = 1;                      // multiplies the generator's value
  double shift = 0;                      // then added
  int axis = -1;                         // along which a generator's rows run; negative: counted from the last
  std::optional<IndexRanges> support{};  // what keeps its value, by logical index; beyond the last element: nothing
};

// No tensor, span or stride is counted beyond this: more bytes than a process can address (2^56: Intel SDM volume 3,
// 5-level paging), and few enough that the bytes of a case's tensors together are counted in 64 bits.
constexpr int64_t kMostCounted = int64_t{1} << 56;

struct TensorSpec {
  std::string name;
  DType dtype = DType::f32;
  std::vector<int64_t> shape;    // elements
  std::vector<int64_t> strides;  // elements; padding between rows belongs to nobody: poisoned, and never to be written
  Role role = Role::input;
  FillSpec fill{};
  // False: the contract says this content is not read (C when beta = 0). It is filled with NaN poison.
  bool is_read = true;

  int64_t elements() const;       // product of shape
  int64_t span_elements() const;  // from the first element to the last, inclusive; 0 when empty
};

// Row-major strides for `shape` with the rows `pad` elements longer than the last dimension.
std::vector<int64_t> row_major(const std::vector<int64_t>& shape, int64_t pad = 0);

// Whether an input counts through every bit pattern of its type (fill/fill.h, "every"). The seeds of such a case are
// parts of one sweep, and its record is about the whole.
bool is_sweep(std::span<const TensorSpec> tensors);

// Offset in elements of logical row-major index `i`.
int64_t offset_of(const TensorSpec& tensor, int64_t i);

// Read access to a tensor's content on the host.
struct TensorView {
  const TensorSpec* spec = nullptr;
  const std::byte* data = nullptr;  // element (0,...,0)
  double at(int64_t logical) const { return load(spec->dtype, data, offset_of(*spec, logical)); }
};

// The oracle's answer for one output tensor, one entry per logical element.
struct Reference {
  std::string tensor;
  DType dtype = DType::f32;
  std::vector<double> hi, lo;  // r = hi + lo, unevaluated; lo = 0 where hi is not finite
  std::vector<double> e_ref;   // bound of |r - exact|
  // Condition sums an algorithm's bound is formed from; meaning and order are the op's, documented in its oracle.h.
  std::vector<std::vector<double>> conditions;
  bool bitwise = false;  // outputs that are moved or compared, not computed: signed zeros and NaN payloads count

  size_t size() const { return hi.size(); }
};

// How an element may be judged.
enum class Evidence : uint8_t {
  rigorous,     // T1: r +- E encloses every correct result
  exact,        // T0: every order of summation gives these bits; E is 0
  weak,         // T1 with an unknown reduction depth
  no_evidence,  // an intermediate may overflow: infinity and NaN are allowed too
  or_nan,       // correct implementations differ: NaN is allowed too; counted as no_evidence
};

// One element's E_alg and how it may be judged, as an op's formula gives them on host and device alike.
struct ElementBound {
  double e_alg = 0;
  Evidence evidence = Evidence::rigorous;
};

// A factor of a bound, which may be infinite, times what it charges: nothing is charged for nothing.
ASSAY_HD inline double charged(double factor, double weight) { return weight == 0 ? 0 : factor * weight; }

struct Bounds {
  std::vector<double> e_alg;
  std::vector<Evidence> evidence;
};

// An op's only output where its elements depend on few others: what oracle() and bounds() say of any run of logical
// elements, the same bits, without the rest. check/element_runs.h judges with it.
class ElementOracle {
 public:
  static constexpr int64_t kMost = 512;  // elements of a run: what is said of them stays in a core's cache
  struct Run {
    double hi[kMost], lo[kMost], e_ref[kMost];
    double e_alg[kMost];
    Evidence evidence[kMost];
  };

  virtual ~ElementOracle() = default;
  // Of elements [first, first + count), count <= kMost. From any thread.
  virtual void compute(int64_t first, int64_t count, Run& out) const = 0;
};

// Perturbs one argument; the output must change, or the kernel ignores it. Either `changed` replaces a scalar or
// `tensor` is filled from another seed.
struct Sensitivity {
  std::string what;  // for the report: "alpha", "tensor b"
  std::optional<Case> changed{};
  std::string tensor{};
};

// Output `output`'s slice i along `output_axis` depends on slice i of `input` along `input_axis` and on no other slice
// of that input: turning another slice to NaN must not change its bytes.
struct RowIndependence {
  std::string input;
  int input_axis = 0;
  std::string output;
  int output_axis = 0;
};

// An axis of a tensor, by the tensor's name.
struct TensorAxis {
  std::string tensor;
  int axis = 0;
};

// Multiplying `input` by 2^k multiplies `output` by 2^(k * power), exactly, barring overflow and underflow.
struct ScaleRelation {
  std::string input;
  std::string output;
  int power = 1;
};

class Op {
 public:
  virtual ~Op() = default;

  virtual std::string_view name() const = 0;
  virtual std::string_view summary() const = 0;       // one line with the formula
  virtual int oracle_version() const = 0;             // raised when the oracle's bits may change
  virtual std::vector<FieldSpec> fields() const = 0;  // the op's own, then dtype; common_fields() are appended

  virtual std::vector<Case> cases(Tier tier) const = 0;  // smoke is a subset of ci, ci of nightly
  // Further ones for every device but a CPU: more blocks than 65535 along any axis of a grid (ci), more than 2^31
  // elements (nightly). No truth golden holds them, since a host's oracle would need hours and hundreds of GiB.
  virtual std::vector<Case> device_cases(Tier) const { return {}; }
  // The op's own, in the order kernels see them. Throws UsageError for fields that do not go together.
  virtual std::vector<TensorSpec> own_tensors(const Case& c) const = 0;

  // One Reference per output tensor, in tensor order. `tensors` has every tensor of tensors(c): inputs as filled, inout
  // as before the launch, outputs without data. Same bits on every IEEE machine and for any thread count.
  virtual std::vector<Reference> oracle(const Case& c, std::span<const TensorView> tensors, int threads) const = 0;

  // E_alg of every element of `reference`, for the declared arithmetic.
  virtual Bounds bounds(const Case& c, const Contract& contract, const Reference& reference) const = 0;

  // For a unary function: the input whose element i alone makes element i of the only output, the other inputs being
  // the same everywhere. fill=every puts each bit pattern of its type there once (reference/row_ops.h). Empty for other
  // ops.
  virtual std::string_view elementwise_input() const { return {}; }

  // Such an op's oracle and bounds, run by run; `tensors` stay as they are meanwhile. Null: whole outputs only.
  virtual std::unique_ptr<ElementOracle> element_oracle(const Case&, const Contract&,
                                                        std::span<const TensorView>) const {
    return nullptr;
  }

  virtual std::string cap_violation(const Contract& contract) const = 0;  // why the op does not allow it, or empty

  virtual std::vector<Sensitivity> sensitivities(const Case&) const { return {}; }
  virtual std::vector<RowIndependence> row_independence(const Case&) const { return {}; }
  virtual std::vector<ScaleRelation> scale_relations(const Case&) const { return {}; }

  // Cases that tell how a kernel computes, for its fingerprint (core/probe.h); none without a sum to tell of.
  virtual std::vector<ProbeSet> probes() const { return {}; }

  // A smaller case whose inputs are leading elements (in logical order) of this one's under the same fill and seed, and
  // whose outputs are therefore leading elements of this one's outputs: the first row or batch entry alone.
  virtual std::optional<Case> leading_part(const Case&) const { return std::nullopt; }
  // An axis along which no slice knows of another, rows or else batch entries, as every input and output has it that
  // has it at all: with the inputs' slices in another order so are the outputs', and nothing else changes. Empty where
  // there is none of two slices or more.
  virtual std::vector<TensorAxis> row_order(const Case&) const { return {}; }
  // A case with a few terms more in every sum and outputs of the same shapes, which are the same where the inputs are
  // those of this one, from the first element on along each axis, and zero beyond.
  virtual std::optional<Case> more_terms(const Case&) const { return std::nullopt; }

  // The same case with longer leading dimensions, where the op has such fields: every field named pad*, 3 more.
  std::optional<Case> padded(const Case& c) const;

  std::vector<FieldSpec> all_fields() const;
  // Filled as the case's support says, of which what lies beyond a tensor's end counts for nothing: a leading part of a
  // case has its support.
  std::vector<TensorSpec> tensors(const Case& c) const;
  // Throws UsageError where the op does not have the case: tensors(c) throws, or the support lies not within them.
  void require(const Case& c) const;
  Case make(const std::vector<std::pair<std::string, std::string>>& given) const;

 protected:
  // For more_terms(): the case with 37 more in the field that counts a sum's terms.
  static Case longer(const Case& c, const char* terms);
};

// The ops of a build, immutable after start.
class OpRegistry {
 public:
  explicit OpRegistry(std::vector<std::unique_ptr<Op>> ops) : ops_(std::move(ops)) {}
  const std::vector<std::unique_ptr<Op>>& all() const { return ops_; }
  const Op& named(std::string_view name) const;  // throws UsageError that lists the names
  const Op* find(std::string_view name) const;
  Case parse_case(std::string_view id) const;  // a case id, or a kernel id whose kernel is dropped

 private:
  std::vector<std::unique_ptr<Op>> ops_;
};

// Defined by reference/ from the lines of its CMakeLists.txt.
OpRegistry make_op_registry();

}  // namespace assay
