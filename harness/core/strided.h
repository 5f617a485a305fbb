// Where the elements of a strided tensor lie, as plain data that can be passed to a device.
#pragma once

#include <cstdint>

#include "core/error.h"
#include "core/hd.h"
#include "core/op.h"

namespace assay {

// The axes of a tensor, without those of length 1 and with neighbours that lie one after the other in memory made one:
// a packed tensor has one axis whatever its rank.
struct Strided {
  static constexpr int kMostAxes = 8;

  int rank = 0;
  int64_t shape[kMostAxes] = {};    // elements
  int64_t strides[kMostAxes] = {};  // elements
  int64_t elements = 1;
  bool is_packed = true;

  // As offset_of(): of logical row-major element `i`, in elements.
  ASSAY_HD int64_t offset(int64_t i) const {
    if (is_packed) return i;
    int64_t at = 0;
    for (int axis = rank - 1; axis > 0; --axis) {
      // Dividing 32 bits takes a device a quarter of the time.
      const bool is_short = ((i | shape[axis]) >> 32) == 0;
      const int64_t outer = is_short
                                ? static_cast<int64_t>(static_cast<uint32_t>(i) / static_cast<uint32_t>(shape[axis]))
                                : i / shape[axis];
      at += (i - outer * shape[axis]) * strides[axis];
      i = outer;
    }
    return at + i * strides[0];
  }
};

inline Strided strided(const TensorSpec& tensor) {
  Strided s;
  for (size_t axis = 0; axis < tensor.shape.size(); ++axis) {
    const int64_t length = tensor.shape[axis], stride = tensor.strides[axis];
    s.elements *= length;
    if (length == 1) continue;
    if (s.rank > 0 && s.strides[s.rank - 1] == length * stride) {
      s.shape[s.rank - 1] *= length;
      s.strides[s.rank - 1] = stride;
      continue;
    }
    if (s.rank == Strided::kMostAxes) throw Error("tensor " + tensor.name + " has more axes than Strided holds");
    s.shape[s.rank] = length;
    s.strides[s.rank++] = stride;
  }
  s.is_packed = s.rank == 0 || (s.rank == 1 && s.strides[0] == 1);
  return s;
}

}  // namespace assay
