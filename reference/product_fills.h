// How the tensors of alpha a b + beta c are filled for a fill of the case: most fill everything alike; those that show
// little in a product of two of the same kind are paired with another.
#pragma once

#include <algorithm>
#include <string>

#include "core/op.h"

namespace assay {

struct ProductFills {
  FillSpec a, b, c;
};

// `terms`: products in an element of a b.
inline ProductFills product_fills(const std::string& fill, int64_t terms) {
  const FillSpec normal{}, integers{.generator = "integers"}, own{.generator = fill};
  if (fill == "normal" || fill == "uniform" || fill == "integers" || fill == "negative") return {own, own, own};
  if (fill == "cancelling") return {own, {.generator = "constant"}, normal};  // pairs of A meet equal elements of B
  if (fill == "huge") {                                                       // results near the largest number
    const double share = 2.0 / static_cast<double>(std::max<int64_t>(terms, 1));
    return {own, {.generator = "uniform", .scale = share}, normal};
  }
  if (fill == "nan_one") return {normal, own, normal};
  if (fill == "onehot" || fill == "identity") return {own, {.generator = "index"}, integers};
  if (fill == "index") return {own, integers, integers};
  if (fill == "ones") return {own, own, integers};
  if (fill == "sparse") return {own, integers, integers};  // sums up to 64: 16-bit outputs hold them, whatever k is
  if (fill == "special_b") return {normal, {.generator = "special"}, normal};
  if (fill == "special_c") return {normal, normal, {.generator = "special"}};
  return {own, normal, normal};
}

}  // namespace assay
