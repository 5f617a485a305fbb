// A running XXH64, and how outputs of a sweep (is_sweep(), core/op.h) are hashed: by chunks, so that threads of a CPU
// or blocks of a GPU each take some. The hash of a tensor is XXH64 of the XXH64s of its chunks.
#pragma once

#include <xxhash.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace assay {

// Packed bytes of one tensor of one part; the last chunk of a tensor has what is left.
inline constexpr int64_t kHashChunk = 16 << 10;
constexpr int64_t hash_chunks(int64_t bytes) { return (bytes + kHashChunk - 1) / kHashChunk; }

// Null has no bytes.
uint64_t xxh64_of(const void* data, size_t bytes, uint64_t seed = 0);

// Of the digests of a tensor's chunks, continued from `seed`.
inline uint64_t hash_of_chunks(std::span<const uint64_t> digests, uint64_t seed) {
  return xxh64_of(digests.data(), digests.size_bytes(), seed);
}

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
