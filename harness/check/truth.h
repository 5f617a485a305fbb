// The truth golden's content: what the oracle says, rounded correctly once to the output's type, as a hash and a few
// samples. Rounding uses the enclosure of r +- E_ref: where its two ends round differently, the oracle does not prove
// which is right. Such straddling elements are left out of the hash (their indices go in instead) and counted.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

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
  Truth finish();

 private:
  struct Sample {
    int64_t index = -1;
    uint64_t bits = 0;
    DType dtype = DType::f32;
  };
  template <DType T>
  void add_elements(const Reference& reference);

  Hasher hasher_;
  int64_t elements_ = 0;
  std::vector<int64_t> straddling_;
  Sample first_, middle_, last_;
  bool want_middle_ = false;
};

// The truth of all outputs of all seeds, in order.
Truth truth_of(std::span<const Reference> references);

}  // namespace assay
