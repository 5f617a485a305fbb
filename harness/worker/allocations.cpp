#include "worker/allocations.h"

#include <errno.h>
#include <malloc.h>
#include <stddef.h>

#include <atomic>

#ifdef ASSAY_SANITIZED

namespace assay {
Allocations allocations() { return {}; }
}  // namespace assay

#else

// glibc's own entry points, which the replacements below forward to.
// NOLINTBEGIN(bugprone-reserved-identifier): the names are glibc's
extern "C" {
void* __libc_malloc(size_t);
void __libc_free(void*);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);
}
// NOLINTEND(bugprone-reserved-identifier)

namespace {

// Constant-initialised: malloc runs before any constructor.
constinit std::atomic<int64_t> calls{0};
constinit std::atomic<int64_t> outstanding{0};

void* taken(void* block) {
  calls.fetch_add(1, std::memory_order_relaxed);
  if (block != nullptr) {
    outstanding.fetch_add(static_cast<int64_t>(::malloc_usable_size(block)), std::memory_order_relaxed);
  }
  return block;
}

void given_back(void* block) {
  if (block != nullptr) {
    outstanding.fetch_sub(static_cast<int64_t>(::malloc_usable_size(block)), std::memory_order_relaxed);
  }
}

}  // namespace

extern "C" {
void* malloc(size_t size) { return taken(__libc_malloc(size)); }
void free(void* block) {
  given_back(block);
  __libc_free(block);
}
void* calloc(size_t count, size_t size) { return taken(__libc_calloc(count, size)); }
void* realloc(void* block, size_t size) {
  given_back(block);
  void* moved = __libc_realloc(block, size);
  if (moved == nullptr && size != 0 && block != nullptr) {
    outstanding.fetch_add(static_cast<int64_t>(::malloc_usable_size(block)), std::memory_order_relaxed);
    return nullptr;
  }
  return taken(moved);
}
void* memalign(size_t alignment, size_t size) { return taken(__libc_memalign(alignment, size)); }
void* aligned_alloc(size_t alignment, size_t size) { return taken(__libc_memalign(alignment, size)); }
int posix_memalign(void** block, size_t alignment, size_t size) {
  if (alignment % sizeof(void*) != 0 || (alignment & (alignment - 1)) != 0 || alignment == 0) return EINVAL;
  void* made = taken(__libc_memalign(alignment, size));
  if (made == nullptr) return ENOMEM;
  *block = made;
  return 0;
}
}

namespace assay {
Allocations allocations() { return {true, calls.load(), outstanding.load()}; }
}  // namespace assay

#endif
