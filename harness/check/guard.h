// Finds writes to memory that is not a kernel's: everything in a poisoned region except the bytes of a tensor's
// elements must still hold the pattern. Padding between rows is as forbidden as what lies before and after.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "check/poison.h"
#include "core/op.h"

namespace assay {

struct GuardReport {
  // Bytes looked at. A side of 0 bytes proves nothing: it must be guarded otherwise, by an unmapped page.
  int64_t before = 0;   // the first element
  int64_t padding = 0;  // between elements
  int64_t after = 0;    // the last element
  int64_t stray = 0;    // of these, bytes that lost the pattern
  // The one with the lowest address: bytes from element (0,...,0).
  int64_t first = 0;
  enum class Where { before, padding, after } where = Where::before;

  // Adds stray bytes at higher addresses than those so far, the lowest `at` bytes from element (0,...,0).
  void add(uint64_t count, int64_t at, Where side) {
    if (count > 0 && stray == 0) {
      first = at;
      where = side;
    }
    stray += static_cast<int64_t>(count);
  }
};

// The region [region, region + bytes) was filled with fill_poison(..., element_at, spec.dtype, poison); element
// (0,...,0) lies at region + element_at. An empty tensor owns nothing: all of the region is `before`.
// Throws Error when the region does not contain the tensor.
GuardReport check_guards(const TensorSpec& spec, const std::byte* region, size_t bytes, size_t element_at,
                         Poison poison);

// "y: byte 256 after element 0 (padding) was written; 8 stray bytes"; empty when there are none.
std::string describe(const TensorSpec& spec, const GuardReport& report);

}  // namespace assay
