// How an op's bounds() is formed from a formula for one element, so that host and device share it. A Rule holds what a
// contract makes of the formula, as plain data:
//   of_row(k)                 what is the same along a row
//   rule(row, hi, e_ref, k)   E_alg and evidence of an element
// where k are the conditions of the element, in the order of Reference::conditions.
#pragma once

#include <span>

#include "core/device_oracle.h"
#include "core/hd.h"
#include "core/op.h"

namespace assay {

// For rules to which rows mean nothing.
struct ElementRule {
  struct Row {};
  ASSAY_HD Row of_row(const double*) const { return {}; }
};

// What `rule` says of every element of a reference whose rows have `row_elements`; `per`: how many values each
// condition has.
template <class Rule>
Bounds bounds_of(const Rule& rule, const Reference& r, int64_t row_elements, std::span<const Per> per) {
  Bounds b;
  b.e_alg.resize(r.size());
  b.evidence.resize(r.size());
  double k[DeviceReference::kMostConditions] = {};
  const auto cols = static_cast<size_t>(row_elements);
  for (size_t first = 0, row = 0; first < r.size(); first += cols, ++row) {
    for (size_t c = 0; c < per.size(); ++c) {
      if (per[c] == Per::row) k[c] = r.conditions[c][row];
    }
    const auto of_row = rule.of_row(k);
    for (size_t column = 0; column < cols; ++column) {
      const size_t i = first + column;
      for (size_t c = 0; c < per.size(); ++c) {
        if (per[c] != Per::row) k[c] = r.conditions[c][per[c] == Per::element ? i : column];
      }
      const ElementBound bound = rule(of_row, r.hi[i], r.e_ref[i], k);
      b.e_alg[i] = bound.e_alg;
      b.evidence[i] = bound.evidence;
    }
  }
  return b;
}

}  // namespace assay
