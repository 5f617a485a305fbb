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
  // 16 hexadecimal digits: XXH64 of packed little-endian elements, then of straddling indices; of a sweep XXH64 of the
  // digests of its chunks (TruthChunk).
  std::string hash;
  int64_t elements = 0;
  int64_t straddling = 0;
  // "index:bits" of the first element, of one in the second half and of the last, among those that do not straddle.
  std::vector<std::string> samples;

  bool operator==(const Truth&) const = default;
};

// What is kept of a chunk (hash.h) of the rounded elements of an output of a sweep. Indices are into the chunk.
struct TruthChunk {
  // XXH64 of the packed little-endian elements, 0 where one straddles; where some do, XXH64 that starts from this of
  // one byte an element: 1 where it straddles, 0 elsewhere.
  uint64_t digest = 0;
  int64_t straddling = 0;         // how many
  int64_t first = -1, last = -1;  // of those that do not; -1: none
  uint64_t first_bits = 0, last_bits = 0;
};
// Of `count` elements that are rounded already, as TruthBuilder::add_rounded() takes them.
TruthChunk truth_chunk(DType dtype, int64_t count, const std::byte* elements, const uint8_t* straddles);

// Indices run through all outputs in tensor order, and where a case has several seeds through those, one after the
// other. A NaN is the type's quiet NaN without sign; a zero has no sign unless the reference is bitwise.
class TruthBuilder {
 public:
  // Whether the case is a sweep (is_sweep(), core/op.h), which is hashed by chunks.
  explicit TruthBuilder(bool of_sweep = false) : of_sweep_(of_sweep) {}
  bool of_sweep() const { return of_sweep_; }

  void add(const Reference& reference);
  // The same from elements that are rounded already: `count` of them, packed, and for each whether it straddles (1; its
  // bits are then 0) or not (0). An output may come in pieces; of a sweep it comes whole.
  void add_rounded(DType dtype, int64_t count, const std::byte* elements, const uint8_t* straddles);
  // The same of an output of a sweep: of each chunk of its `count` elements. Throws Error when it is none.
  void add_chunks(DType dtype, int64_t count, std::span<const TruthChunk> chunks);
  Truth finish();

 private:
  struct Sample {
    int64_t index = -1;
    uint64_t bits = 0;
    DType dtype = DType::f32;
  };
  template <DType T, class ProvenBits>
  void add_elements(size_t count, const ProvenBits& proven_bits);

  bool of_sweep_;
  Hasher hasher_;
  int64_t elements_ = 0;
  int64_t straddling_of_chunks_ = 0;
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

// The truth of all outputs of all seeds, in order, of a case that is no sweep.
Truth truth_of(std::span<const Reference> references);

}  // namespace assay
