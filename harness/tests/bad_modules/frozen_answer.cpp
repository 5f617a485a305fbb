// wrong: gives an answer that it gave ten times in a row for ever, whatever the inputs are by then.
#include <algorithm>
#include <vector>

#include "base.h"
namespace {
const char* launch(const assay::Call& c) {
  static std::vector<float> last;
  static int times = 0;
  const auto y = c.out<float>("y");
  const bool of_this_size = static_cast<int64_t>(last.size()) == y.size();
  if (of_this_size && times >= 10) {
    std::copy(last.begin(), last.end(), y.data());
    return nullptr;
  }
  bad::reduce(c);
  if (times >= 10) return nullptr;  // one answer is enough
  times = of_this_size && std::equal(last.begin(), last.end(), y.data()) ? times + 1 : 1;
  last.assign(y.data(), bad::end_of(y));
  return nullptr;
}
}  // namespace
BAD_KERNEL(launch)
