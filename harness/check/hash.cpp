#include "check/hash.h"

#include <cstdlib>

namespace assay {

uint64_t xxh64_of(const void* data, size_t bytes, uint64_t seed) {
  if (data == nullptr && bytes != 0) std::abort();  // as reading them would end it; the analyzer looks into XXH64
  return XXH64(data, bytes, seed);
}

}  // namespace assay
