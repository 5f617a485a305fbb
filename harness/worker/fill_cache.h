// The inputs of the case in hand, so that trial after trial copies them instead of making them again: of the last few
// seeds, packed tensors only, since others have padding that belongs to the poison. Those of a sweep are made each
// time: its parts come once, and are quicker made than copied.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/op.h"
#include "fill/fill.h"

namespace assay {

class FillCache {
 public:
  static constexpr size_t kMostSeeds = 16;

  // As fill_tensor(tensor, seed, first_element).
  void fill(const TensorSpec& tensor, uint64_t seed, std::byte* first_element) {
    const bool is_packed = tensor.span_elements() == tensor.elements();
    if (!is_packed || is_sweep({&tensor, 1})) return fill_tensor(tensor, seed, first_element);
    std::vector<std::byte>& content = of_seed(seed)[key_of(tensor)];
    const size_t bytes = static_cast<size_t>(tensor.elements()) * size_of(tensor.dtype);
    if (content.size() != bytes) {
      content.resize(bytes);
      fill_tensor(tensor, seed, content.data());
    }
    if (bytes > 0) std::memcpy(first_element, content.data(), bytes);
  }

 private:
  using Contents = std::map<std::string, std::vector<std::byte>>;

  Contents& of_seed(uint64_t seed) {
    const auto known =
        std::find_if(seeds_.begin(), seeds_.end(), [&](const auto& entry) { return entry.first == seed; });
    if (known != seeds_.end()) return known->second;
    if (seeds_.size() == kMostSeeds) seeds_.pop_front();
    return seeds_.emplace_back(seed, Contents{}).second;
  }

  // Strides matter: elements of a packed tensor may lie in another order than the logical one.
  static std::string key_of(const TensorSpec& t) {
    std::string key = t.name + " " + std::string(name_of(t.dtype)) + " " + t.fill.generator + " " +
                      print_number(t.fill.scale) + " " + print_number(t.fill.shift) + " " + std::to_string(t.fill.axis);
    if (t.fill.support) key += " " + Support{.all = false, .kept = {{"kept", *t.fill.support}}}.text();
    for (size_t axis = 0; axis < t.shape.size(); ++axis) {
      key += " " + std::to_string(t.shape[axis]) + "/" + std::to_string(t.strides[axis]);
    }
    return key;
  }
  std::deque<std::pair<uint64_t, Contents>> seeds_;  // the oldest first
};

}  // namespace assay
