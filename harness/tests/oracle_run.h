// Runs an op's oracle on the inputs that its cases describe, and judges outputs made by small implementations in tests.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "check/accuracy.h"
#include "core/contract.h"
#include "core/op.h"
#include "fill/fill.h"

namespace assay::testing {

inline const OpRegistry& registry() {
  static const OpRegistry kRegistry = make_op_registry();
  return kRegistry;
}

// The inputs of a case, as the harness would fill them: NaN where the case says that nothing is read.
struct Inputs {
  std::vector<TensorSpec> specs;
  std::vector<std::vector<std::byte>> storage;
  std::vector<TensorView> views;

  Inputs(const Op& op, const Case& c, uint64_t seed) : specs(op.tensors(c)), storage(specs.size()) {
    for (size_t i = 0; i < specs.size(); ++i) {
      if (specs[i].role != Role::output) {
        storage[i].assign(static_cast<size_t>(specs[i].span_elements()) * size_of(specs[i].dtype), std::byte{0xff});
        if (specs[i].is_read) fill_tensor(specs[i], seed, storage[i].data());
      }
      views.push_back({&specs[i], storage[i].data()});
    }
  }
  Inputs(const Op& op, const Case& c) : Inputs(op, c, static_cast<uint64_t>(c.integer("seed"))) {}
  Inputs(const Inputs&) = delete;

  const TensorView& named(std::string_view name) const {
    for (const TensorView& view : views) {
      if (view.spec->name == name) return view;
    }
    throw std::runtime_error("no tensor " + std::string(name));
  }
  // Row-major values of one tensor.
  std::vector<double> values(std::string_view name) const {
    const TensorView& view = named(name);
    std::vector<double> all(static_cast<size_t>(view.spec->elements()));
    for (size_t i = 0; i < all.size(); ++i) all[i] = view.at(static_cast<int64_t>(i));
    return all;
  }
};

// What an implementation computes: one vector of unrounded results an output, in the op's order.
using Outputs = std::vector<std::vector<double>>;

// Rounds `values` to the type of `spec`, stores them as a kernel would, and judges them.
inline ErrorSummary judge_output(const Op& op, const Case& c, const TensorSpec& spec, const Reference& reference,
                                 const Contract& contract, const std::vector<double>& values) {
  std::vector<std::byte> got(static_cast<size_t>(spec.span_elements()) * size_of(spec.dtype));
  for (size_t i = 0; i < values.size(); ++i) {
    store_bits(spec.dtype, got.data(), offset_of(spec, static_cast<int64_t>(i)), encode(spec.dtype, values[i]));
  }
  return judge_accuracy(spec, got.data(), reference, op.bounds(c, contract, reference), contract);
}

// The same for all outputs.
inline std::vector<ErrorSummary> judge(const Op& op, const Case& c, const Inputs& inputs, const Contract& contract,
                                       const Outputs& outputs) {
  const std::vector<Reference> references = op.oracle(c, inputs.views, 1);
  std::vector<ErrorSummary> summaries;
  size_t k = 0;
  for (const TensorSpec& spec : inputs.specs) {
    if (spec.role != Role::output) continue;
    summaries.push_back(judge_output(op, c, spec, references[k], contract, outputs[k]));
    ++k;
  }
  return summaries;
}

inline int64_t failures(const std::vector<ErrorSummary>& summaries) {
  int64_t n = 0;
  for (const ErrorSummary& s : summaries) n += s.failures;
  return n;
}

inline std::string first_failure(const std::vector<ErrorSummary>& summaries) {
  for (const ErrorSummary& s : summaries) {
    if (s.failures == 0) continue;
    return s.tensor + "[" + std::to_string(s.worst_index) + "] got " + print_number(s.worst_got) + " want " +
           print_number(s.worst_want) + " bound " + print_number(s.worst_bound);
  }
  return "none";
}

// True when the bits of r, e_ref and conditions are the same.
inline bool same_bits(const std::vector<double>& a, const std::vector<double>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0);
}
inline bool same_bits(const std::vector<Reference>& a, const std::vector<Reference>& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (!same_bits(a[i].hi, b[i].hi) || !same_bits(a[i].lo, b[i].lo) || !same_bits(a[i].e_ref, b[i].e_ref))
      return false;
    if (a[i].conditions.size() != b[i].conditions.size()) return false;
    for (size_t k = 0; k < a[i].conditions.size(); ++k) {
      if (!same_bits(a[i].conditions[k], b[i].conditions[k])) return false;
    }
  }
  return true;
}

// A contract that every op's caps allow, with the given accumulator and depth.
inline Contract plain_contract(int32_t accumulator, int32_t depth_divisor, int32_t depth_constant) {
  Contract contract;
  contract.interface_version = 1;
  contract.owner = "tests";
  contract.domain = "rows >= 0";
  contract.arithmetic.accumulator = accumulator;
  contract.arithmetic.depth_divisor = depth_divisor;
  contract.arithmetic.depth_constant = depth_constant;
  contract.arithmetic.exp_kind = ASSAY_EXP_ACCURATE;
  return contract;
}

// Orders in which an implementation may sum. Each has a depth that plain_contract() can declare.
enum class Order { lanes, backward_lanes, pairwise };

// Sum of term(0..n-1) in precision T. Lanes: 32 interleaved partial sums (depth n/32 + 6).
template <class T>
T sum_in(Order order, int64_t n, const std::function<T(int64_t)>& term) {
  if (order == Order::pairwise) {
    std::vector<T> level(static_cast<size_t>(n));
    for (int64_t i = 0; i < n; ++i) level[static_cast<size_t>(i)] = term(i);
    while (level.size() > 1) {
      for (size_t i = 0; i < level.size() / 2; ++i) level[i] = level[2 * i] + level[2 * i + 1];
      if (level.size() % 2 == 1) level[level.size() / 2] = level.back();
      level.resize((level.size() + 1) / 2);
    }
    return level.empty() ? T(0) : level[0];
  }
  T lanes[32] = {};
  for (int64_t i = 0; i < n; ++i) {
    const int64_t k = order == Order::lanes ? i : n - 1 - i;
    lanes[k % 32] += term(k);
  }
  for (int width = 16; width > 0; width /= 2) {
    for (int i = 0; i < width; ++i) lanes[i] += lanes[i + width];
  }
  return lanes[0];
}
inline constexpr int32_t kTestDepthDivisor = 32, kTestDepthConstant = 20;

}  // namespace assay::testing
