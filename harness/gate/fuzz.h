// `assay check --fuzz`: cases that nobody listed, drawn for one kernel after another and steered by what they reach.
//
// Each kernel has its own draws and its own coverage (gate/coverage.h), so that for one seed, and the same answers, it
// is asked the same cases whatever other kernels are in the run. A draw is, a third each,
//   a fresh case, as it comes: no feedback can keep any part of the domain from being reached;
//   the best of 4 fresh cases: that with the most pairs of boundary classes that no case, listed or drawn, has yet;
//   the best of 4 changes of a field in a case that opened a key: of a decision drawn first, so that a rare path is
//   followed as often as a common one.
// Best of 4, since what is unseen is mostly rare combinations: the best of many would be odd cases only. One draw in 16
// may lie outside what the kernel claims, because refusing it is a promise too; the others are drawn until it claims
// them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "gate/case_draw.h"
#include "gate/coverage.h"
#include "gate/filter.h"
#include "gate/plan.h"

namespace assay {

// How long cases are drawn: a case under way ends.
struct FuzzBudget {
  double seconds = 0;  // 0: any time
  int64_t cases = 0;   // 0: any number
};
FuzzBudget parse_fuzz_budget(const std::string& text);  // "60s", "10m", "2h" or "200cases"; throws UsageError

// What a run whose cases are drawn has in place of a tier, and where in its folder lies what it found.
inline constexpr const char* kFuzzTier = "fuzz";
inline constexpr const char* kFoundFolder = "found";

struct FuzzSummary {
  uint64_t seed = 0;
  int64_t drawn = 0;
  int64_t judged = 0;   // of these
  int64_t refused = 0;  // and these, by kernels that do not take them
  int64_t failed = 0;   // of those judged: verdicts with exit code 1
  int64_t keys = 0;     // of coverage, over all kernels
  int64_t keys_beyond_listed = 0;

  bool operator==(const FuzzSummary&) const = default;
};
std::string fuzz_text(const FuzzSummary& summary);  // one line

class Fuzzer {
 public:
  // Draws for the kernels of `plan` whose target is `device` and that a filter selects; a value that the filter gives
  // stays. Keeps a reference to `ops`. Throws UsageError for filters that leave nothing to draw.
  Fuzzer(const OpRegistry& ops, const Plan& plan, const std::string& device, const std::vector<std::string>& filters,
         uint64_t seed);
  ~Fuzzer();

  // The next case, never one that it gave before. Nothing when no kernel has any left, which takes a filter that leaves
  // few.
  std::optional<PlannedCase> next();
  // What came of it; of every case, in their order, before the next is drawn.
  void learn(const Record& record);

  FuzzSummary summary() const;
  // A line for each filter of which nothing was drawn, or one where nothing was drawn at all.
  std::vector<std::string> not_drawn() const;

 private:
  struct OfOp;
  struct OfKernel;
  std::optional<Case> draw(OfKernel& kernel);
  // One case as its own filter has it; whether the kernel claims it is not asked.
  std::optional<Case> draw_once(OfKernel& kernel, const Filter* filter, bool fresh);
  void end_turn();

  std::map<std::string, std::unique_ptr<OfOp>> ops_;
  std::vector<std::unique_ptr<OfKernel>> kernels_;
  std::map<std::string, int64_t> draws_;  // by filter
  size_t turn_ = 0;                       // whose
  int in_a_row_ = 0;                      // cases it has been asked since
  FuzzSummary summary_;
};

}  // namespace assay
