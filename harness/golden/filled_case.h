// The inputs of a case as an oracle sees them, made in this process: for goldens and bundles, which no judge is asked
// about.
#pragma once

#include <cstddef>
#include <vector>

#include "core/op.h"

namespace assay {

class FilledCase {
 public:
  // From one seed, whichever the case names. What the contract says is not read stays NaN poison: an oracle that reads
  // it gives itself away.
  FilledCase(const Op& op, const Case& c, uint64_t seed, int threads);
  FilledCase(const FilledCase&) = delete;
  FilledCase& operator=(const FilledCase&) = delete;

  const std::vector<TensorSpec>& tensors() const { return tensors_; }
  std::vector<TensorView> views() const;                        // one a tensor; outputs have no data
  std::byte* content(size_t i) { return contents_[i].data(); }  // of an input, to be changed

 private:
  std::vector<TensorSpec> tensors_;
  std::vector<std::vector<std::byte>> contents_;  // from the first element to the last, padding poisoned
};

}  // namespace assay
