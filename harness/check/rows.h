// Walks a strided tensor row by row, so that checks run over runs of memory and not over index arithmetic.
#pragma once

#include <cstdint>
#include <vector>

#include "core/op.h"

namespace assay {

// `count` elements that lie `stride` elements apart, starting `offset` elements past element (0,...,0). They are the
// logical row-major elements `logical` to logical + count - 1.
struct Row {
  int64_t logical = 0;
  int64_t offset = 0;
  int64_t count = 0;
  int64_t stride = 1;
};

// Calls visit(Row) for every row in logical order. Trailing axes that lie one after the other in memory count as one
// row, so a packed tensor is a single row whatever its rank.
template <class Visit>
void for_each_row(const TensorSpec& tensor, Visit&& visit) {
  if (tensor.elements() == 0) return;
  size_t outer = tensor.shape.size();
  Row row{.count = 1, .stride = 1};
  while (outer > 0 &&
         (row.count == 1 || tensor.shape[outer - 1] == 1 || tensor.strides[outer - 1] == row.count * row.stride)) {
    --outer;
    if (row.count == 1) row.stride = tensor.strides[outer];
    row.count *= tensor.shape[outer];
  }
  std::vector<int64_t> index(outer, 0);
  while (true) {
    visit(static_cast<const Row&>(row));
    row.logical += row.count;
    size_t axis = outer;
    for (; axis > 0; --axis) {
      row.offset += tensor.strides[axis - 1];
      if (++index[axis - 1] < tensor.shape[axis - 1]) break;
      row.offset -= tensor.strides[axis - 1] * tensor.shape[axis - 1];
      index[axis - 1] = 0;
    }
    if (axis == 0) return;
  }
}

// The rows of a tensor in the order of their addresses, as (first, count) runs of adjacent elements: overlapping and
// permuted strides included.
struct AdjacentElements {
  int64_t offset = 0;
  int64_t count = 0;
};
std::vector<AdjacentElements> runs_by_address(const TensorSpec& tensor);

}  // namespace assay
