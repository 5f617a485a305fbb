// wrong: answers from a cache keyed by the input's address.
#include <algorithm>
#include <map>
#include <vector>

#include "base.h"
namespace {
const char* launch(const assay::Call& c) {
  static std::map<const float*, std::vector<float>> answers;
  const auto y = c.out<float>("y");
  std::vector<float>& answer = answers[c.in<float>("x").data()];
  if (answer.empty()) {
    bad::reduce(c);
    answer.assign(y.data(), bad::end_of(y));
  }
  std::copy(answer.begin(), answer.end(), y.data());
  return nullptr;
}
}  // namespace
BAD_KERNEL(launch)
