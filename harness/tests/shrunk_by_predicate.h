// shrink() against predicates in place of a judge.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "gate/shrink.h"

namespace assay {

using Predicate = std::function<bool(const Case&)>;

inline const OpRegistry& every_op() {
  static const OpRegistry all = make_op_registry();
  return all;
}

inline constexpr auto kTimeless = [] { return 0.0; };
inline constexpr auto kUnheard = [](const Case&) {};

inline Shrunk shrunk(const std::string& id, const Predicate& fails, int most = 1 << 20,
                     const Predicate& looks_right = kNoGlance) {
  const Case start = every_op().parse_case(id);
  int judged = 0;
  Case last = start;
  const auto counted = [&](const Case& c) {
    ++judged;
    return fails(c);
  };
  const auto used = [&] { return judged >= most ? 1 : static_cast<double>(judged) / most; };
  const Shrunk end =
      shrink(every_op().named(start.op()), start, {counted, looks_right, used, [&](const Case& c) { last = c; }});
  EXPECT_EQ(end.judged, judged);
  EXPECT_LE(judged, most);
  EXPECT_EQ(end.smallest, last);  // each step was told
  EXPECT_TRUE(fails(end.smallest)) << end.smallest.id();
  return end;
}

inline int64_t outputs_of(const Shrunk& end) {
  return output_elements(every_op().named(end.smallest.op()), end.smallest);
}

}  // namespace assay
