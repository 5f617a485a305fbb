#include "check/trust.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "check/rows.h"
#include "record/verdict.h"

namespace assay {
namespace {

// Those that draw every element from a wide distribution around ordinary magnitudes.
bool is_random_generator(std::string_view generator) {
  static constexpr std::array<std::string_view, 6> kRandom{"normal",  "uniform",  "scaled",
                                                           "shifted", "negative", "int8_full"};
  return std::find(kRandom.begin(), kRandom.end(), generator) != kRandom.end();
}

// Inputs that make a whole output zero, infinite or NaN by themselves.
bool forces_sameness(std::string_view generator) {
  static constexpr std::array<std::string_view, 5> kForcing{"zeros", "onehot", "identity", "huge", "subnormal"};
  return std::find(kForcing.begin(), kForcing.end(), generator) != kForcing.end();
}

// Why sameness is to be expected, or empty.
std::string expected_sameness(std::span<const TensorSpec> tensors) {
  bool any_random = false;
  for (const TensorSpec& t : tensors) {
    if (t.role != Role::input) {
      if (std::find(t.shape.begin(), t.shape.end(), 1) != t.shape.end()) return t.name + " has an axis of length 1";
      if (t.elements() == 0) return t.name + " is empty";
      if (t.role == Role::output) continue;
    }
    if (!t.is_read) continue;
    if (t.elements() == 0) return t.name + " is empty";
    if (forces_sameness(t.fill.generator)) return t.name + " is filled with " + t.fill.generator;
    if (t.fill.support) return "the case's support leaves few inputs that are not zero";
    any_random = any_random || is_random_generator(t.fill.generator);
  }
  return any_random ? "" : "no input that is read is random";
}

}  // namespace

// Boyer and Moore's majority vote, and a count of who won.
Majority majority_of(const TensorSpec& spec, const std::byte* data) {
  const DType t = spec.dtype;
  Majority vote;
  for_each_row(spec, [&](const Row& row) {
    for (int64_t i = 0; i < row.count; ++i) {
      const uint64_t bits = value_bits(t, load_bits(t, data, row.offset + i * row.stride));
      if (vote.count == 0) vote.bits = bits;
      vote.count += bits == vote.bits ? 1 : -1;
    }
  });
  vote.count = 0;
  for_each_row(spec, [&](const Row& row) {
    for (int64_t i = 0; i < row.count; ++i) {
      vote.count += value_bits(t, load_bits(t, data, row.offset + i * row.stride)) == vote.bits;
    }
  });
  return 2 * vote.count > spec.elements() ? vote : Majority{};
}

CheckResult trust_check(std::span<const TensorSpec> tensors, std::span<const OutputMajority> outputs) {
  int64_t elements = 0, same = 0;
  std::string what;
  for (const auto& [spec, majority] : outputs) {
    elements += spec->elements();
    same += majority.count;
    if (majority.count == 0) continue;
    what += fmt::format("{}{} of {} elements of {} are {}", what.empty() ? "" : ", ", majority.count, spec->elements(),
                        spec->name, decode(spec->dtype, majority.bits));
  }
  if (elements < kLeastTrustedElements) {
    return check_result("trust", Outcome::not_applicable, fmt::format("only {} output elements", elements));
  }
  const bool varied = !(static_cast<double>(same) > kMistrustedShare * static_cast<double>(elements));
  if (varied) return check_result("trust", Outcome::pass);
  const std::string expected = expected_sameness(tensors);
  if (!expected.empty()) return check_result("trust", Outcome::not_applicable, what + ": " + expected);
  return check_result("trust", Outcome::fail, what);
}

}  // namespace assay
