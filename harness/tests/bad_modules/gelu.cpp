// bias_gelu in bf16 by way of double, right but for one input: WRONG_AT gets twice the answer, UNWRITTEN_AT none.
#include <assay/kernel.h>

#include <bit>
#include <cmath>
#include <cstdint>

#ifndef WRONG_AT
#define WRONG_AT (-1)
#endif
#ifndef UNWRITTEN_AT
#define UNWRITTEN_AT (-1)
#endif

namespace {

double value_of(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

uint16_t rounded(double x) {
  const auto bits = std::bit_cast<uint32_t>(static_cast<float>(x));
  if (std::isnan(x)) return static_cast<uint16_t>(bits >> 16 | 0x40);
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

const char* launch(const assay::Call& c) {
  const auto x = c.in<assay::bf16>("x"), bias = c.in<assay::bf16>("bias");
  const auto y = c.out<assay::bf16>("y");
  const auto* in = reinterpret_cast<const uint16_t*>(x.data());
  const auto* added = reinterpret_cast<const uint16_t*>(bias.data());
  auto* out = reinterpret_cast<uint16_t*>(y.data());
  for (int64_t row = 0; row < x.dim(0); ++row) {
    for (int64_t i = 0; i < x.dim(1); ++i) {
      const int32_t bits = in[row * x.stride(0) + i];
      if (bits == UNWRITTEN_AT) continue;
      const double t = value_of(static_cast<uint16_t>(bits)) + value_of(added[i]);
      const double answer = 0.5 * t * std::erfc(-t * std::sqrt(0.5));
      out[row * y.stride(0) + i] = rounded(bits == WRONG_AT ? 2 * answer : answer);
    }
  }
  return nullptr;
}

}  // namespace

ASSAY_KERNEL(bias_gelu, bad, .target = "cpu", .launch = launch,
             .contract = {.interface_version = 1,
                          .owner = "tests",
                          .domain = "dtype in bf16; form in erf",
                          .promises = ASSAY_SAME_RUN | ASSAY_SAME_RESTART,
                          .arithmetic = {.accumulator = ASSAY_ACC_F32, .depth_divisor = 32, .depth_constant = 1},
                          .nan_policy = ASSAY_NAN_PROPAGATES})
