// The truth golden's content: what the oracle says, rounded correctly once to the output's type, as a hash and a few
// samples. Rounding uses the enclosure of r +- E_ref: where its two ends round differently, the oracle does not prove
// which is right. Such straddling elements are left out of the hash (their indices go in instead) and counted.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "check/enclosure.h"
#include "check/hash.h"
#include "core/op.h"

namespace assay {

struct Truth {
  std::string hash;  // 16 hexadecimal digits: XXH64 of packed little-endian elements, then of straddling indices
  int64_t elements = 0;
  int64_t straddling = 0;
  // "index:bits" of the first element, of one in the second half and of the last, among those that do not straddle.
  std::vector<std::string> samples;

  bool operator==(const Truth&) const = default;
};

// Indices run through all outputs in tensor order, and where a case has several seeds through those, one after the
// other. A NaN is the type's quiet NaN without sign; a zero has no sign unless the reference is bitwise.
class TruthBuilder {
 public:
  void add(const Reference& reference);
  // The same from elements that are rounded already: `count` of them, packed, and for each whether it straddles (1; its
  // bits are then 0) or not (0).
  void add_rounded(DType dtype, int64_t count, const std::byte* elements, const uint8_t* straddles);
  Truth finish();

 private:
  struct Sample {
    int64_t index = -1;
    uint64_t bits = 0;
    DType dtype = DType::f32;
  };
  template <DType T, class ProvenBits>
  void add_elements(size_t count, const ProvenBits& proven_bits);

  Hasher hasher_;
  int64_t elements_ = 0;
  std::vector<int64_t> straddling_;
  Sample first_, middle_, last_;
  bool want_middle_ = false;
};

// Of an element r = hi + lo: the bits of its rounding, or false when E_ref leaves two candidates.
template <DType T>
ASSAY_HD bool proven_bits(double hi, double lo, double e_ref, bool bitwise, uint64_t& bits) {
  double value;
  if (!(std::fabs(hi) <= std::numeric_limits<double>::max())) {
    value = hi == hi ? round_to(T, hi) : std::numeric_limits<double>::quiet_NaN();
  } else {
    const Interval interval = enclosure<T>(hi, lo, e_ref);
    if (!(interval.low == interval.high)) return false;
    value = interval.low == 0 ? (bitwise ? std::copysign(0.0, hi) : 0.0) : interval.low;
  }
  bits = encode(T, value);
  return true;
}

// The truth of all outputs of all seeds, in order.
Truth truth_of(std::span<const Reference> references);

}  // namespace assay
