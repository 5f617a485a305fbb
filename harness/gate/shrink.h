// A failing case made as small as it gets while it fails the same way: shorter axes, plain attributes and layout,
// simpler inputs, one seed, and of the inputs few that are not zero. Greedy, so that what is left is smallest in every
// single field, not among all cases: where it has more outputs than anyone goes through, smaller cases are drawn,
// and listed ones tried.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/op.h"
#include "gate/few_outputs.h"
#include "record/record.h"

namespace assay {

// How a case fails: what has to stay while it shrinks.
struct Failure {
  Verdict verdict;
  std::string check;             // the first that failed with this verdict
  bool beside_callers = false;   // it failed while others called the kernel, and not alone
  bool of_another_case = false;  // of a case that is asked beside it
  bool is_known = false;         // the policy lists it
  bool operator==(const Failure&) const = default;
};
// Nothing for a record that tells no failure of the kernel: it passed, is unsupported, or the harness failed.
std::optional<Failure> failure_of(const Record& record);
// Whether a smaller case fails as the first did. What no policy lists is not made smaller by turning it into what one
// does.
bool fails_as(const Failure& first, const Record& smaller);

// Simpler values of a field that is `value` now, the simplest first: defaults; of numbers, steps on the way there or to
// 1; of fills, those that show more at a glance. Each is strictly simpler. None for dtype: another type fails another
// way; nor for support, whose values shrink() goes through by itself.
std::vector<std::string> simpler_values(const FieldSpec& field, const FieldValue& value);

struct Shrunk {
  Case smallest;
  int judged = 0;         // cases, the first not counted
  int drawn = 0;          // cases of few outputs, as the others left more
  bool finished = false;  // false: stopped while simpler ones were left to try
};

// Where one field at a time leaves more than a few outputs, so many cases are drawn that have few: a fault of rounding
// shows in one element of thousands, so that a smaller case needs other inputs to show it, and a path for much work
// needs longer sums. Every second one is judged with many seeds at once, of which one that fails alone is kept. What
// looks right at a glance is judged all the same in one of seven draws, as a race shows in few launches, and while one
// field at a time is made smaller; but nowhere if eight glances in a row see the failure of the case reached.
inline constexpr int kMostDrawn = 1000;

// Supports longer than this are not tried: nobody sees more in them than in all inputs.
inline constexpr size_t kLongestSupport = 1000;  // characters

inline constexpr std::nullptr_t kNoGlance = nullptr;

// What shrink() asks.
struct ShrinkQuestions {
  std::function<bool(const Case&)> fails;  // judges a case
  // At a glance, which takes a fraction of that; false: nobody knows. Empty: it tells nothing of this failure.
  std::function<bool(const Case&)> looks_right;
  std::function<double()> used;              // the share of the time that is used, 1: all of it
  std::function<void(const Case&)> smaller;  // is told of each step, the case that was judged last
  bool many_seeds = true;                    // false: whether a case fails does not depend on its inputs' values
};

// A case that the op does not have (an identity matrix that is not square) is not judged. The support comes last, of
// cases with few enough inputs: with any one element of it zero as well, what is left does not fail.
Shrunk shrink(const Op& op, const Case& failing, const ShrinkQuestions& ask);

}  // namespace assay
