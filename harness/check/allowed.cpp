#include "check/allowed.h"

#include <cmath>

namespace assay {

std::vector<Allowed> allowed(const Reference& reference, const Bounds& bounds, const Contract& contract) {
  const JudgeRules rules{.nan_unspecified = contract.nan_policy == ASSAY_NAN_UNSPECIFIED, .bitwise = reference.bitwise};
  std::vector<Allowed> all;
  with_dtype(reference.dtype, [&](auto type) {
    for (size_t i = 0; i < reference.size(); ++i) {
      all.push_back(allowed<decltype(type)::value>(
          {reference.hi[i], reference.lo[i], reference.e_ref[i], bounds.e_alg[i], bounds.evidence[i]}, rules));
    }
  });
  return all;
}

bool allows(const Allowed& allowed, double got) {
  if (allowed.anything || (allowed.nan && std::isnan(got)) || (allowed.infinite && std::isinf(got))) return true;
  if (!(allowed.low <= got && got <= allowed.high)) return false;
  return got != 0 || (std::signbit(got) ? allowed.minus_zero : allowed.plus_zero);
}

}  // namespace assay
