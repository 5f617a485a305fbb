// wrong: answers from a cache keyed by the input's address and its first elements.
#include <algorithm>
#include <cstring>
#include <vector>

#include "base.h"
namespace {
const char* launch(const assay::Call& c) {
  thread_local const float* last = nullptr;
  thread_local std::vector<float> key, answer;
  const auto x = c.in<float>("x");
  const auto y = c.out<float>("y");
  const std::vector<float> now(x.data(), x.data() + std::min<int64_t>(x.size(), 24));
  const bool hit = last == x.data() && static_cast<int64_t>(answer.size()) == y.size() && key.size() == now.size() &&
                   std::memcmp(key.data(), now.data(), now.size() * sizeof(float)) == 0;
  if (hit) {
    std::copy(answer.begin(), answer.end(), y.data());
    return nullptr;
  }
  bad::reduce(c);
  last = x.data();
  key = now;
  answer.assign(y.data(), bad::end_of(y));
  return nullptr;
}
constexpr assay_contract kAllocating = [] {
  assay_contract contract = bad::kContract;
  contract.may_allocate = 1;
  return contract;
}();
}  // namespace
ASSAY_KERNEL(reduce, bad, .launch = launch, .contract = kAllocating)
