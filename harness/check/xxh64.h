// XXH64 for host and device (Y. Collet, "xxHash fast digest algorithm", doc/xxhash_spec.md of xxHash 0.8), of up to
// some thousand bytes that lie in words: its four accumulators are independent, so that on a device a thread has each.
// What runs on the host alone uses the library (hash.h).
#pragma once

#include <bit>
#include <cstdint>

#include "core/hd.h"

namespace assay::xxh64 {

inline constexpr uint64_t kPrime1 = 0x9e3779b185ebca87, kPrime2 = 0xc2b2ae3d27d4eb4f, kPrime3 = 0x165667b19e3779f9,
                          kPrime4 = 0x85ebca77c2b2ae63, kPrime5 = 0x27d4eb2f165667c5;

inline constexpr int kLanes = 4;

ASSAY_HD inline uint64_t round(uint64_t sum, uint64_t word) { return std::rotl(sum + word * kPrime2, 31) * kPrime1; }

// Accumulator `lane` after all whole stripes of 32 bytes. Words are little-endian; the last one holds what is left of
// `bytes`, its other bytes are not read.
ASSAY_HD inline uint64_t accumulator(int lane, const uint64_t* words, uint64_t bytes, uint64_t seed) {
  const uint64_t start[kLanes] = {seed + kPrime1 + kPrime2, seed + kPrime2, seed, seed - kPrime1};
  uint64_t sum = start[lane];
  for (uint64_t stripe = 0; stripe < bytes / 32; ++stripe) sum = round(sum, words[kLanes * stripe + lane]);
  return sum;
}

ASSAY_HD inline uint64_t digest(const uint64_t (&sums)[kLanes], const uint64_t* words, uint64_t bytes, uint64_t seed) {
  uint64_t h = seed + kPrime5;
  if (bytes >= 32) {
    h = std::rotl(sums[0], 1) + std::rotl(sums[1], 7) + std::rotl(sums[2], 12) + std::rotl(sums[3], 18);
    for (const uint64_t sum : sums) h = (h ^ round(0, sum)) * kPrime1 + kPrime4;
  }
  h += bytes;
  uint64_t at = bytes / 32 * 32;
  for (; at + 8 <= bytes; at += 8) h = std::rotl(h ^ round(0, words[at / 8]), 27) * kPrime1 + kPrime4;
  if (at + 4 <= bytes) {
    h = std::rotl(h ^ (words[at / 8] & 0xffffffff) * kPrime1, 23) * kPrime2 + kPrime3;
    at += 4;
  }
  for (; at < bytes; ++at) h = std::rotl(h ^ (words[at / 8] >> (8 * (at % 8)) & 0xff) * kPrime5, 11) * kPrime1;
  h = (h ^ h >> 33) * kPrime2;
  h = (h ^ h >> 29) * kPrime3;
  return h ^ h >> 32;
}

}  // namespace assay::xxh64
