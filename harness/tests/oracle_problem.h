// A case with its inputs filled, for tests of products and reductions that address single elements and try many
// implementations against one evaluation of the oracle.
#pragma once

#include <functional>
#include <initializer_list>
#include <string>
#include <vector>

#include "check/trust.h"
#include "oracle_run.h"

namespace assay::testing {

struct Problem : Inputs {
  Problem(const Op& which, const Case& point) : Inputs(which, point), op(&which), c(point) {}

  std::vector<Reference> oracle(int threads = 1) const { return op->oracle(c, views, threads); }
  double at(size_t tensor, int64_t logical) const { return views[tensor].at(logical); }
  // The stored element (i, j, ...) of a tensor.
  double at(size_t tensor, std::initializer_list<int64_t> index) const {
    int64_t offset = 0;
    size_t axis = 0;
    for (const int64_t i : index) offset += i * specs[tensor].strides[axis++];
    return load(specs[tensor].dtype, storage[tensor].data(), offset);
  }
  void put(size_t tensor, int64_t logical, double value) {
    const DType t = specs[tensor].dtype;
    store_bits(t, storage[tensor].data(), offset_of(specs[tensor], logical), encode(t, value));
  }
  const TensorSpec& output(const Reference& reference) const { return *named(reference.tensor).spec; }

  // Judges the values of one output tensor, given before their one rounding to its type.
  ErrorSummary judge(const Reference& reference, const Contract& contract,
                     const std::function<double(int64_t)>& value) const {
    std::vector<double> values(reference.size());
    for (size_t i = 0; i < values.size(); ++i) values[i] = value(static_cast<int64_t>(i));
    return judge_output(*op, c, output(reference), reference, contract, values);
  }

  const Op* op;
  Case c;
};

// The cases whose correctly rounded outputs fail the trust check: they prove little.
inline std::vector<std::string> mistrusted(const Op& op, const std::vector<Case>& cases) {
  std::vector<std::string> found;
  for (const Case& c : cases) {
    const Problem problem(op, c);
    const Reference r = problem.oracle()[0];
    const TensorSpec& spec = problem.output(r);
    std::vector<std::byte> rounded(static_cast<size_t>(spec.span_elements()) * size_of(spec.dtype));
    for (size_t i = 0; i < r.size(); ++i) {
      store_bits(spec.dtype, rounded.data(), offset_of(spec, static_cast<int64_t>(i)), encode(spec.dtype, r.hi[i]));
    }
    const OutputMajority majority{&spec, majority_of(spec, rounded.data())};
    const CheckResult result = trust_check(problem.specs, {&majority, 1});
    if (result.outcome == Outcome::fail) found.push_back(c.id() + ": " + result.detail);
  }
  return found;
}

}  // namespace assay::testing
