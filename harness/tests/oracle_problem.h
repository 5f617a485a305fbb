// A case with its inputs filled and its oracle evaluated, for the tests of the ops in reference/; outputs start as NaN.
#pragma once

#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "check/accuracy.h"
#include "check/trust.h"
#include "core/op.h"
#include "fill/fill.h"

namespace assay::testing {

inline const OpRegistry& registry() {
  static const OpRegistry kRegistry = make_op_registry();
  return kRegistry;
}

inline std::vector<std::byte> poisoned(const TensorSpec& spec) {
  return std::vector<std::byte>(static_cast<size_t>(spec.span_elements()) * size_of(spec.dtype), std::byte{0xff});
}

struct Problem {
  Problem(const Op& op, const Case& which) : op(&op), c(which), specs(op.tensors(which)) {
    for (const TensorSpec& spec : specs) {
      data.push_back(poisoned(spec));
      if (spec.is_read && spec.role != Role::output) {
        fill_tensor(spec, static_cast<uint64_t>(which.integer("seed")), data.back().data());
      }
    }
    for (size_t i = 0; i < specs.size(); ++i) views.push_back({&specs[i], data[i].data()});
  }
  Problem(const Problem&) = delete;

  std::vector<Reference> oracle(int threads = 1) const { return op->oracle(c, views, threads); }
  double at(size_t tensor, int64_t logical) const { return views[tensor].at(logical); }
  // The stored element (i, j, ...) of a tensor.
  double at(size_t tensor, std::initializer_list<int64_t> index) const {
    int64_t offset = 0;
    size_t axis = 0;
    for (const int64_t i : index) offset += i * specs[tensor].strides[axis++];
    return load(specs[tensor].dtype, data[tensor].data(), offset);
  }

  size_t index_of(const std::string& tensor) const {
    size_t i = 0;
    while (specs[i].name != tensor) ++i;
    return i;
  }

  // Judges values for one output tensor, given before their one rounding to its dtype.
  ErrorSummary judge(const Reference& reference, const Contract& contract,
                     const std::function<double(int64_t)>& value) const {
    const TensorSpec& spec = specs[index_of(reference.tensor)];
    std::vector<std::byte> got = poisoned(spec);
    for (int64_t i = 0; i < spec.elements(); ++i) {
      store_bits(spec.dtype, got.data(), offset_of(spec, i), encode(spec.dtype, value(i)));
    }
    return judge_accuracy(spec, got.data(), reference, op->bounds(c, contract, reference), contract);
  }

  const Op* op;
  Case c;
  std::vector<TensorSpec> specs;
  std::vector<std::vector<std::byte>> data;
  std::vector<TensorView> views;
};

// What the trust check makes of the correctly rounded outputs: empty, or the cases among `cases` that prove little.
inline std::vector<std::string> mistrusted(const Op& op, const std::vector<Case>& cases) {
  std::vector<std::string> found;
  for (const Case& c : cases) {
    const Problem problem(op, c);
    std::vector<std::vector<std::byte>> outputs;
    std::vector<OutputData> rounded;
    for (const Reference& r : problem.oracle()) {
      const TensorSpec& spec = problem.specs[problem.index_of(r.tensor)];
      outputs.push_back(poisoned(spec));
      for (size_t i = 0; i < r.size(); ++i) {
        store_bits(spec.dtype, outputs.back().data(), offset_of(spec, static_cast<int64_t>(i)),
                   encode(spec.dtype, r.hi[i]));
      }
      rounded.push_back({&spec, outputs.back().data()});
    }
    const CheckResult result = trust_check(problem.specs, rounded);
    if (result.outcome == Outcome::fail) found.push_back(c.id() + ": " + result.detail);
  }
  return found;
}

inline bool same_bits(const std::vector<double>& a, const std::vector<double>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0);
}
inline bool same_bits(const Reference& a, const Reference& b) {
  bool same = same_bits(a.hi, b.hi) && same_bits(a.lo, b.lo) && same_bits(a.e_ref, b.e_ref) &&
              a.conditions.size() == b.conditions.size();
  for (size_t i = 0; same && i < a.conditions.size(); ++i) same = same_bits(a.conditions[i], b.conditions[i]);
  return same;
}

inline Contract contract_of(int32_t accumulator) {
  Contract contract{.interface_version = 1, .owner = "tests", .domain = "dtype in f32 f16 bf16"};
  contract.arithmetic.accumulator = accumulator;
  return contract;
}

}  // namespace assay::testing
