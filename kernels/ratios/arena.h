// Memory that cases take turns in, so that its pages are faulted in once and every contestant works on the same ones.
#pragma once

#include <cstddef>
#include <cstdint>

namespace assay::ratios {

class Arena {
 public:
  explicit Arena(uint64_t bytes);  // address space; memory is taken page by page when first written. Throws Error.
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  std::byte* data() const { return data_; }
  uint64_t bytes() const { return bytes_; }

 private:
  uint64_t bytes_;
  std::byte* data_;
};

}  // namespace assay::ratios
