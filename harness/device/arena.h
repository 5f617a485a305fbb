// The memory of a case, owned by the judge: a sealed memfd that a worker maps piecewise. It can be neither shrunk under
// the judge nor grown, and holds no expected value.
#pragma once

#include <cstddef>
#include <cstdint>

namespace assay {

class Arena {
 public:
  Arena() = default;
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  // Makes room for `bytes`; true when the file was replaced, so that workers must be given the new one. Content is
  // undefined afterwards. Throws Error when the machine has no memory for it.
  bool reserve(uint64_t bytes);

  int file() const { return file_; }
  uint64_t generation() const { return generation_; }  // of the file; descriptors are reused, this is not
  uint64_t size() const { return size_; }
  uint64_t resident() const;  // bytes that have memory behind them
  std::byte* data() { return data_; }

 private:
  void close();
  int file_ = -1;
  uint64_t generation_ = 0;
  uint64_t size_ = 0;
  std::byte* data_ = nullptr;
};

}  // namespace assay
