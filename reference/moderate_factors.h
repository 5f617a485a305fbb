// Whether a case's factors leave room for a perturbed argument to show (Op::sensitivities): beside a term that is
// thousands of times as large, or below what the output holds, a right answer stays as it is.
#pragma once

#include <algorithm>
#include <cmath>

#include "core/case.h"

namespace assay {

// Every factor, which all real fields of an op of products are, is 0 or of a size between 1/16 and 16.
inline bool has_moderate_factors(const Case& c) {
  return std::ranges::all_of(c.fields(), [](const FieldValue& field) {
    const double size = std::fabs(field.real);
    return field.kind != FieldKind::real || size == 0 || (size >= 0x1p-4 && size <= 0x1p4);
  });
}

}  // namespace assay
