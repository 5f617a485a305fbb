// One case on the host and on a CUDA device, what a kernel might answer, and whether both say the same of it.
#pragma once

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdio>
#include <limits>
#include <string>
#include <vector>

#include "check/accuracy.h"
#include "check/poison.h"
#include "core/device_memory.h"
#include "core/device_oracle.h"
#include "core/op.h"
#include "fill/device_fill.h"

namespace assay {

inline constexpr int kHostThreads = 16;

class OnDevice : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_GT(cuda_devices(), 0) << "this test needs a CUDA device"; }
};

using Buffer = std::vector<std::byte>;

inline Buffer poisoned(const TensorSpec& spec) {
  Buffer buffer(static_cast<size_t>(spec.span_elements()) * size_of(spec.dtype));
  fill_poison(buffer.data(), buffer.size(), 0, spec.dtype, Poison::first);
  return buffer;
}

inline DeviceMemory uploaded(const Buffer& buffer) {
  DeviceMemory memory(buffer.size());
  copy_to_device(memory.data(), buffer.data(), buffer.size());
  return memory;
}

inline Buffer downloaded(const DeviceMemory& memory) {
  Buffer buffer(memory.bytes());
  copy_to_host(buffer.data(), memory.data(), buffer.size());
  return buffer;
}

// One case on host and device, inputs filled.
struct Problem {
  Problem(const Op& op, const Case& c, uint64_t seed) : op(op), c(c), specs(op.tensors(c)) {
    for (const TensorSpec& spec : specs) {
      host.push_back(poisoned(spec));
      device.push_back(uploaded(host.back()));
      if (spec.role == Role::output) continue;
      fill_tensor(spec, seed, host.back().data(), kHostThreads);
      fill_on_device(spec, seed, device.back().data());
      EXPECT_TRUE(downloaded(device.back()) == host.back()) << c.id() << ": fill of " << spec.name;
    }
    for (size_t i = 0; i < specs.size(); ++i) {
      const bool holds = specs[i].role != Role::output;
      views.push_back({&specs[i], holds ? host[i].data() : nullptr});
      device_views.push_back({&specs[i], holds ? device[i].data() : nullptr});
      if (specs[i].role != Role::input) outputs.push_back(i);
    }
  }

  const Op& op;
  const Case& c;
  std::vector<TensorSpec> specs;
  std::vector<Buffer> host;
  std::vector<DeviceMemory> device;
  std::vector<TensorView> views;
  std::vector<DeviceTensor> device_views;
  std::vector<size_t> outputs;
};

// Empty, or the first value that differs in its bits.
inline std::string difference(const char* what, const std::vector<double>& host, const std::vector<double>& device) {
  if (host.size() != device.size()) return std::string(what) + ": other sizes";
  for (size_t i = 0; i < host.size(); ++i) {
    if (std::bit_cast<uint64_t>(host[i]) == std::bit_cast<uint64_t>(device[i])) continue;
    char text[160];
    std::snprintf(text, sizeof text, "%s[%zu]: %a on the host, %a on the device", what, i, host[i], device[i]);
    return text;
  }
  return {};
}

inline std::string difference(const std::vector<Reference>& host, const std::vector<Reference>& device) {
  if (host.size() != device.size()) return "other outputs";
  for (size_t o = 0; o < host.size(); ++o) {
    const Reference &h = host[o], &d = device[o];
    if (h.tensor != d.tensor || h.dtype != d.dtype || h.bitwise != d.bitwise) return h.tensor + ": another tensor";
    std::string found =
        difference("hi", h.hi, d.hi) + difference("lo", h.lo, d.lo) + difference("e_ref", h.e_ref, d.e_ref);
    if (h.conditions.size() != d.conditions.size()) found += "other conditions";
    for (size_t k = 0; k < h.conditions.size() && found.empty(); ++k) {
      found += difference(("condition " + std::to_string(k)).c_str(), h.conditions[k], d.conditions[k]);
    }
    if (!found.empty()) return h.tensor + ": " + found;
  }
  return {};
}

inline bool same_number(double a, double b) {  // a NaN's payload does not survive conversions
  return std::bit_cast<uint64_t>(a) == std::bit_cast<uint64_t>(b) || (std::isnan(a) && std::isnan(b));
}

inline void expect_same(const ErrorSummary& host, const ErrorSummary& device, const std::string& where) {
  EXPECT_EQ(host.tensor, device.tensor) << where;
  EXPECT_EQ(host.elements, device.elements) << where;
  EXPECT_EQ(host.exact, device.exact) << where;
  EXPECT_EQ(host.rigorous, device.rigorous) << where;
  EXPECT_EQ(host.weak, device.weak) << where;
  EXPECT_EQ(host.vacuous, device.vacuous) << where;
  EXPECT_EQ(host.no_evidence, device.no_evidence) << where;
  EXPECT_EQ(host.failures, device.failures) << where;
  EXPECT_EQ(host.worst_index, device.worst_index) << where;
  EXPECT_EQ(host.histogram, device.histogram) << where;
  const auto expect_number = [&](const char* what, double a, double b) {
    EXPECT_TRUE(same_number(a, b)) << where << ": " << what << " " << a << " and " << b;
  };
  expect_number("max_q", host.max_q, device.max_q);
  expect_number("rms_q", host.rms_q, device.rms_q);
  expect_number("mean_signed_q", host.mean_signed_q, device.mean_signed_q);
  expect_number("misrounded", host.misrounded, device.misrounded);
  expect_number("mean_signed_ulps", host.mean_signed_ulps, device.mean_signed_ulps);
  expect_number("worst_got", host.worst_got, device.worst_got);
  expect_number("worst_want", host.worst_want, device.worst_want);
  expect_number("worst_bound", host.worst_bound, device.worst_bound);
}

inline std::vector<Contract> contracts() {
  Contract plain{.interface_version = 1, .owner = "test", .domain = "true"};
  plain.arithmetic = {
      .accumulator = ASSAY_ACC_F32, .depth_divisor = 32, .depth_constant = 16, .exp_kind = ASSAY_EXP_ACCURATE};
  Contract unknown_depth = plain;
  unknown_depth.arithmetic.depth_divisor = 0;
  unknown_depth.arithmetic.accumulator = ASSAY_ACC_F64;
  unknown_depth.arithmetic.intermediate = ASSAY_ACC_F32;
  Contract flushing = plain;
  flushing.arithmetic.flushes_subnormals = 1;
  flushing.arithmetic.exp_kind = ASSAY_EXP_FAST;
  flushing.arithmetic.rescales_online = 1;
  flushing.arithmetic.split_k = 4;
  flushing.arithmetic.partial_type = ASSAY_ACC_BF16;
  flushing.nan_policy = ASSAY_NAN_UNSPECIFIED;
  Contract tensor = plain;
  tensor.arithmetic.accumulator = ASSAY_ACC_TENSOR;
  tensor.arithmetic.tensor_terms = 16;
  tensor.arithmetic.tensor_fraction = 25;
  tensor.arithmetic.tensor_precision = 23;
  return {plain, unknown_depth, flushing, tensor};
}

// What a kernel that is right would write, and with `harm` what a wrong one might: an element in 50 is off by a few
// places or by much, is a NaN, an infinity or a zero.
inline Buffer output_for(const TensorSpec& spec, const Reference& reference, bool harm) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  Buffer out = poisoned(spec);
  with_dtype(spec.dtype, [&](auto type) {
    constexpr DType T = decltype(type)::value;
    for (int64_t i = 0; i < spec.elements(); ++i) {
      const auto at = static_cast<size_t>(i);
      uint64_t bits = encode(T, reference.hi[at] + reference.lo[at]);
      const uint64_t draw = fill_detail::hash(99, at);
      if (harm && draw % 50 == 0) {
        const double others[] = {std::nan(""), infinity, -infinity, 0.0, -0.0, 1e30, -reference.hi[at]};
        bits = draw >> 32 & 1 ? bits ^ (draw >> 40 & 7) : encode(T, others[(draw >> 40) % std::size(others)]);
      }
      store_bits(T, out.data(), offset_of(spec, i), bits);
    }
  });
  return out;
}

}  // namespace assay
