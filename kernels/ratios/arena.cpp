#include "arena.h"

#include <sys/mman.h>

#include <string>

#include "core/error.h"

namespace assay::ratios {

Arena::Arena(uint64_t bytes) : bytes_(bytes) {
  void* mapped = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) throw Error("no address space for " + std::to_string(bytes >> 20) + " MiB");
  data_ = static_cast<std::byte*>(mapped);
}

Arena::~Arena() { munmap(data_, bytes_); }

}  // namespace assay::ratios
