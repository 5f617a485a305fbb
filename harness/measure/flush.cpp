#include "measure/flush.h"

#include "core/error.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

namespace assay {

#if defined(__x86_64__)
namespace {

// Bytes one instruction evicts: CPUID leaf 1, EBX bits 15-8, in units of 8 (Intel SDM volume 2, CPUID).
size_t line_bytes() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid(1, &a, &b, &c, &d) == 0) return 64;
  const size_t bytes = ((b >> 8) & 0xFF) * 8;
  return bytes == 0 ? 64 : bytes;
}

bool has_clflushopt() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (b & (1u << 23)) != 0;
}

__attribute__((target("clflushopt"))) void evict_optimised(uintptr_t line) {
  _mm_clflushopt(reinterpret_cast<void*>(line));
}

void evict(uintptr_t line) { _mm_clflush(reinterpret_cast<void*>(line)); }

}  // namespace

size_t flush_from_caches(std::span<const AddressRange> ranges) {
  static const size_t step = line_bytes();
  static const bool optimised = has_clflushopt();
  size_t lines = 0;
  for (const AddressRange& range : ranges) {
    const auto begin = reinterpret_cast<uintptr_t>(range.begin);
    for (uintptr_t line = begin / step * step; line < begin + range.bytes; line += step, ++lines) {
      optimised ? evict_optimised(line) : evict(line);
    }
  }
  _mm_mfence();
  return lines;
}

const char* flush_instruction() { return has_clflushopt() ? "clflushopt" : "clflush"; }

#else

size_t flush_from_caches(std::span<const AddressRange>) {
  throw Error("cold measurements are not supported on this architecture: no cache flush");
}

const char* flush_instruction() { return "none"; }

#endif

}  // namespace assay
