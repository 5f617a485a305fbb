#include "golden/filled_case.h"

#include "check/poison.h"
#include "fill/fill.h"

namespace assay {

FilledCase::FilledCase(const Op& op, const Case& c, uint64_t seed, int threads) : tensors_(op.tensors(c)) {
  for (const TensorSpec& tensor : tensors_) {
    std::vector<std::byte>& content = contents_.emplace_back();
    if (tensor.role == Role::output) continue;
    content.resize(static_cast<size_t>(tensor.span_elements()) * size_of(tensor.dtype));
    fill_poison(content.data(), content.size(), 0, tensor.dtype, Poison::first);
    if (tensor.is_read) fill_tensor(tensor, seed, content.data(), threads);
  }
}

std::vector<TensorView> FilledCase::views() const {
  std::vector<TensorView> all;
  for (size_t i = 0; i < tensors_.size(); ++i) {
    all.push_back({&tensors_[i], tensors_[i].role == Role::output ? nullptr : contents_[i].data()});
  }
  return all;
}

}  // namespace assay
