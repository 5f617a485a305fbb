#include "check/bytes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "check/hash.h"
#include "check/rows.h"
#include "core/error.h"

namespace assay {
namespace {

constexpr int64_t kBlock = 4096;  // elements compared by memcmp, or gathered for a hash, at once

// Adds the differences among `count` elements, `stride_*` elements apart.
void compare_row(DType t, const std::byte* a, int64_t stride_a, const std::byte* b, int64_t stride_b, int64_t logical,
                 int64_t count, ByteDifference& found) {
  const auto size = static_cast<int64_t>(size_of(t));
  for (int64_t i = 0; i < count;) {
    const int64_t block = std::min(kBlock, count - i);
    if (stride_a == 1 && stride_b == 1 &&
        std::memcmp(a + i * size, b + i * size, static_cast<size_t>(block * size)) == 0) {
      i += block;
      continue;
    }
    for (const int64_t end = i + block; i < end; ++i) {
      const uint64_t bits_a = load_bits(t, a, i * stride_a);
      const uint64_t bits_b = load_bits(t, b, i * stride_b);
      if (bits_a == bits_b) continue;
      if (found.count++ == 0) found = {1, logical + i, bits_a, bits_b};
    }
  }
}

}  // namespace

ByteDifference compare_bytes(const TensorSpec& spec, const std::byte* a, const std::byte* b) {
  ByteDifference found;
  const auto size = static_cast<int64_t>(size_of(spec.dtype));
  for_each_row(spec, [&](const Row& row) {
    compare_row(spec.dtype, a + row.offset * size, row.stride, b + row.offset * size, row.stride, row.logical,
                row.count, found);
  });
  return found;
}

ByteDifference compare_bytes(const TensorSpec& spec_a, const std::byte* a, const TensorSpec& spec_b,
                             const std::byte* b) {
  if (spec_a.shape != spec_b.shape || spec_a.dtype != spec_b.dtype) {
    throw Error(fmt::format("compare_bytes: {} and {} have different shapes or dtypes", spec_a.name, spec_b.name));
  }
  if (spec_a.strides == spec_b.strides) return compare_bytes(spec_a, a, b);
  ByteDifference found;
  const auto size = static_cast<int64_t>(size_of(spec_a.dtype));
  for_each_row(spec_a, [&](const Row& row) {
    for (int64_t i = 0; i < row.count; ++i) {
      compare_row(spec_a.dtype, a + (row.offset + i * row.stride) * size, 1,
                  b + offset_of(spec_b, row.logical + i) * size, 1, row.logical + i, 1, found);
    }
  });
  return found;
}

std::string describe(const TensorSpec& spec, const ByteDifference& d) {
  if (d.count == 0) return "";
  const auto shown = [&spec](uint64_t bits) {
    return fmt::format("0x{:0{}x} ({})", bits, 2 * size_of(spec.dtype), decode(spec.dtype, bits));
  };
  return fmt::format("{}[{}] {} became {}, {} of {} elements", spec.name, d.first, shown(d.a), shown(d.b), d.count,
                     spec.elements());
}

namespace {

// Calls add(bytes, count) with all elements in logical order, packed.
template <class Add>
void for_each_packed(const TensorSpec& spec, const std::byte* data, const Add& add) {
  const auto size = static_cast<int64_t>(size_of(spec.dtype));
  std::byte block[kBlock];
  for_each_row(spec, [&](const Row& row) {
    if (row.stride == 1) {
      add(data + row.offset * size, static_cast<size_t>(row.count * size));
      return;
    }
    const int64_t at_once = kBlock / size;
    for (int64_t i = 0; i < row.count; i += at_once) {
      const int64_t n = std::min(at_once, row.count - i);
      for (int64_t j = 0; j < n; ++j) {
        std::memcpy(block + j * size, data + (row.offset + (i + j) * row.stride) * size, static_cast<size_t>(size));
      }
      add(block, static_cast<size_t>(n * size));
    }
  });
}

}  // namespace

uint64_t hash_elements(const TensorSpec& spec, const std::byte* data, uint64_t seed) {
  Hasher hasher(seed);
  for_each_packed(spec, data, [&](const std::byte* bytes, size_t count) { hasher.add(bytes, count); });
  return hasher.digest();
}

uint64_t hash_elements_by_chunks(const TensorSpec& spec, const std::byte* data, uint64_t seed) {
  const int64_t bytes = spec.elements() * static_cast<int64_t>(size_of(spec.dtype));
  std::vector<std::byte> packed;
  if (spec.strides != row_major(spec.shape)) {
    packed.reserve(static_cast<size_t>(bytes));
    for_each_packed(spec, data,
                    [&](const std::byte* some, size_t count) { packed.insert(packed.end(), some, some + count); });
    data = packed.data();
  }
  std::vector<uint64_t> digests;
  for (int64_t at = 0; at < bytes; at += kHashChunk) {
    digests.push_back(xxh64_of(data + at, static_cast<size_t>(std::min(kHashChunk, bytes - at))));
  }
  return hash_of_chunks(digests, seed);
}

}  // namespace assay
