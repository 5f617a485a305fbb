// A running XXH64.
#pragma once

#include <xxhash.h>

#include <cstddef>
#include <cstdint>
#include <memory>

namespace assay {

class Hasher {
 public:
  explicit Hasher(uint64_t seed = 0) : state_(XXH64_createState()) { XXH64_reset(state_.get(), seed); }
  void add(const void* data, size_t bytes) { XXH64_update(state_.get(), data, bytes); }
  uint64_t digest() const { return XXH64_digest(state_.get()); }

 private:
  struct Free {
    void operator()(XXH64_state_t* state) const { XXH64_freeState(state); }
  };
  std::unique_ptr<XXH64_state_t, Free> state_;
};

}  // namespace assay
