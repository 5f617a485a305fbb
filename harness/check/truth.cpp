#include "check/truth.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>

#include "check/enclosure.h"
#include "core/error.h"

namespace assay {
namespace {

// The bits of the rounded element, or false when E_ref leaves two candidates.
template <DType T>
bool proven_bits(const Reference& reference, size_t i, uint64_t& bits) {
  const double hi = reference.hi[i];
  double value;
  if (!(std::fabs(hi) <= std::numeric_limits<double>::max())) {
    value = hi == hi ? round_to(T, hi) : std::numeric_limits<double>::quiet_NaN();
  } else {
    const Interval interval = enclosure<T>(hi, reference.lo[i], reference.e_ref[i]);
    if (!(interval.low == interval.high)) return false;
    value = interval.low == 0 ? (reference.bitwise ? std::copysign(0.0, hi) : 0.0) : interval.low;
  }
  bits = encode(T, value);
  return true;
}

}  // namespace

template <DType T>
void TruthBuilder::add_elements(const Reference& reference) {
  constexpr size_t kBlock = 4096;
  std::byte block[kBlock * size_of(T)];
  size_t filled = 0;
  for (size_t i = 0; i < reference.size(); ++i, ++elements_) {
    uint64_t bits = 0;
    if (std::has_single_bit(static_cast<uint64_t>(elements_))) want_middle_ = true;
    if (proven_bits<T>(reference, i, bits)) {
      last_ = {elements_, bits, T};
      if (first_.index < 0) first_ = last_;
      if (want_middle_) middle_ = last_;
      want_middle_ = false;
    } else {
      straddling_.push_back(elements_);
    }
    store_bits(T, block, static_cast<int64_t>(filled), bits);
    if (++filled == kBlock || i + 1 == reference.size()) {
      hasher_.add(block, filled * size_of(T));
      filled = 0;
    }
  }
}

void TruthBuilder::add(const Reference& reference) {
  if (reference.lo.size() != reference.size() || reference.e_ref.size() != reference.size()) {
    throw Error(fmt::format("truth of {}: hi, lo and e_ref have {}, {} and {} elements", reference.tensor,
                            reference.size(), reference.lo.size(), reference.e_ref.size()));
  }
  with_dtype(reference.dtype, [&](auto type) { add_elements<decltype(type)::value>(reference); });
}

Truth TruthBuilder::finish() {
  if (!straddling_.empty()) hasher_.add(straddling_.data(), straddling_.size() * sizeof(int64_t));
  Truth truth{.hash = fmt::format("{:016x}", hasher_.digest()),
              .elements = elements_,
              .straddling = static_cast<int64_t>(straddling_.size())};
  int64_t previous = -1;
  for (const Sample& sample : {first_, middle_, last_}) {
    if (sample.index <= previous) continue;
    truth.samples.push_back(fmt::format("{}:{:0{}x}", sample.index, sample.bits, 2 * size_of(sample.dtype)));
    previous = sample.index;
  }
  return truth;
}

Truth truth_of(std::span<const Reference> references) {
  TruthBuilder builder;
  for (const Reference& reference : references) builder.add(reference);
  return builder.finish();
}

}  // namespace assay
