// What every op's oracle is held to, whatever the op: tiers that nest, right implementations that never fail, wrong
// ones that the smoke tier sees. The implementations are the test's own.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "oracle_run.h"

namespace assay::testing {

// `failures` judges an answer, its second argument, to a sum of its first and of terms whose own sum overflows to -Inf.
template <class Failures>
void expect_specials_among_large_ones(const Failures& failures) {
  EXPECT_EQ(failures(INFINITY, INFINITY), 0);
  EXPECT_EQ(failures(INFINITY, NAN), 0);  // -Inf of the others
  EXPECT_EQ(failures(INFINITY, -INFINITY), 1);
  EXPECT_EQ(failures(NAN, NAN), 0);
  EXPECT_EQ(failures(NAN, -INFINITY), 1);
}

// Each tier holds the one before. `tensors`: how many a case has, where that is always the same.
inline void expect_tiers_nest(const Op& op, size_t least_of_ci, std::optional<size_t> tensors = {}) {
  const auto smoke = op.cases(Tier::smoke), ci = op.cases(Tier::ci), nightly = op.cases(Tier::nightly);
  EXPECT_GE(smoke.size(), 25u);
  EXPECT_GE(ci.size(), least_of_ci);
  EXPECT_GE(nightly.size(), 2 * ci.size());
  for (const Case& c : smoke) EXPECT_EQ(std::count(ci.begin(), ci.end(), c), 1) << c.id();
  for (const Case& c : ci) EXPECT_EQ(std::count(nightly.begin(), nightly.end(), c), 1) << c.id();
  for (const Case& c : nightly) {
    EXPECT_EQ(registry().parse_case(c.id()), c) << c.id();
    EXPECT_EQ(op.tensors(c).size(), tensors.value_or(op.tensors(c).size())) << c.id();
  }
}

// judged(case, variant, seed) are the error summaries of an implementation. Every variant is right on every case of the
// nightly tier that is small enough to try; `applies` leaves out a variant that is not meant for a case.
template <class Variant, class Judged, class Applies>
void expect_right_everywhere(const Op& op, const std::vector<Variant>& variants, int64_t least_cases, Judged judged,
                             Applies applies) {
  int64_t cases = 0, elements = 0;
  double max_q = 0;
  for (const Case& c : op.cases(Tier::nightly)) {
    if (c.integer("rows") * c.integer("cols") > 6000) continue;
    for (const Variant& variant : variants) {
      if (!applies(c, variant)) continue;
      for (uint64_t seed = 1; seed <= 2; ++seed) {
        const std::vector<ErrorSummary> summaries = judged(c, variant, seed);
        ASSERT_EQ(failures(summaries), 0) << c.id() << " seed " << seed << ": " << first_failure(summaries);
        ++cases;
        for (const ErrorSummary& s : summaries) {
          elements += s.elements - s.no_evidence;
          if (c.word("fill") == "normal" && c.word("dtype") == "f32") max_q = std::max(max_q, s.max_q);
        }
      }
    }
  }
  std::printf("  %lld cases, %lld elements, largest |error| / bound %.3f\n", static_cast<long long>(cases),
              static_cast<long long>(elements), max_q);
  EXPECT_GT(max_q, 0.05) << "a bound this loose finds little";
  EXPECT_GT(cases, least_cases);
  EXPECT_GT(elements, 1000000);
}

template <class Variant, class Judged>
void expect_right_everywhere(const Op& op, const std::vector<Variant>& variants, int64_t least_cases, Judged judged) {
  expect_right_everywhere(op, variants, least_cases, judged, [](const Case&, const Variant&) { return true; });
}

// Each of `wrong`, named by what is wrong with it, fails on a case of the smoke tier.
template <class Variant, class Judged>
void expect_smoke_sees(const Op& op, const std::vector<std::pair<const char*, Variant>>& wrong, Judged judged) {
  for (const auto& [what, variant] : wrong) {
    int seen_by = 0;
    for (const Case& c : op.cases(Tier::smoke)) seen_by += failures(judged(c, variant, 1)) > 0 ? 1 : 0;
    EXPECT_GT(seen_by, 0) << what << " passes every case of the smoke tier";
    std::printf("  %-34s fails %d smoke cases\n", what, seen_by);
  }
}

}  // namespace assay::testing
