// The sentinel's work on a GPU: queued on a stream, not waited for. No CUDA header is needed to include this.
#pragma once

#include <cstddef>

namespace assay {

// A chain of dependent operations in one block a multiprocessor, about 100 us. Throws Error.
void queue_sentinel_chain(void* stream);

// Device memory that is copied to and fro.
class SentinelCopy {
 public:
  static constexpr size_t kBytes = size_t{256} << 20;  // of each side: beyond the L2 of any GPU this is compiled for
  SentinelCopy();                                      // throws Error
  ~SentinelCopy();
  SentinelCopy(const SentinelCopy&) = delete;
  SentinelCopy& operator=(const SentinelCopy&) = delete;
  void queue(void* stream) const;  // throws Error

 private:
  void* from_ = nullptr;
  void* to_ = nullptr;
};

}  // namespace assay
