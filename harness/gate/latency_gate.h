// What turns blocks into verdicts: the state machine of the A/B gate of latency. Pure: it starts no process and reads
// no clock, so that the live gate, a replay of recorded blocks and worlds that tests make up drive the same code. The
// caller measures one more block of the cases in wanted(), hands it to add(), and again, until wanted() is empty.
//
// Of every case and metric, a pair, the gate asks how far the change moved it.
//   Screen    few blocks of all cases. Passed: the moderated t's upper bound is below the pair's margin, and nothing
//             says (p < 0.05) that it moved by more than the least that counts, in either direction. A case that the
//             caller suspects does not pass here.
//   Confirm   fresh blocks of the cases with a pair that the screen left open, judged after each of the policy's looks:
//             regress   signed-rank p of "no slower than the least that counts", by Holm over all pairs left open, at
//                       this look's share of the gate's alpha
//             pass      the upper bound of the Hodges-Lehmann estimate is below the margin and, before the last look,
//                       nothing says (p < 0.05) that it moved
//             otherwise it goes on; after the last look it is inconclusive.
//   Improved  the mirror image of regress, a family of its own for Holm. It never fails a gate.
// An unchanged pair is called slower in at most alpha of gates, however many pairs there are, and whatever the machine
// does: looks, Holm and the p values (measure/signed_rank.h) each hold without any assumption on it, and the blocks
// that confirm are none of those that raised the suspicion. What the machine does can cost blocks, power, and
// conclusions.
//
// Blocks that the caller voids count for no case, and it gets more until at most the policy's share of them is void:
// disturbances come in bursts, which are waited out. A case is invalid as soon as more are void than that share of
// twice those it needs, or of the policy's `void_blocks` where that is more. A block that lacks a metric is void for
// that pair alone, which is invalid once more lack it than that share of twice those it needs; or not gated, where no
// calibration has shown that the case has that metric at all. Because a change can cause what voids a block, voids are
// counted by arm, and an imbalance is a finding that leaves the gate inconclusive.
//
// A kernel that fails in a process of the change has failed, whatever its latency; one that fails in both arms is
// invalid; where it fails in the base alone, the block is void, and the case invalid if the base fails in all of the
// blocks after which the screen first looks.
//
// A gate's alpha and what earlier gates of the same base and change said come from, and go to, gate/alpha_ledger.h.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gate/alpha_ledger.h"
#include "gate/latency_class.h"
#include "gate/latency_policy.h"
#include "gate/latency_reading.h"
#include "measure/block.h"
#include "record/run_json.h"

namespace assay {

// In the order of severity.
enum class LatencyOutcome { not_gated, pass, improved, inconclusive, invalid, regress, failed };
std::string_view word_of(LatencyOutcome outcome);
int exit_code_of(LatencyOutcome outcome);

struct VoidBlock {
  std::string why;                // "steal", "slowdown", "sentinel", ...
  std::optional<bool> of_change;  // to whose process it happened; none: to neither's alone
};

// A kernel that gave no samples.
struct KernelFailure {
  std::string why;
  bool of_base = false, of_change = false;  // one of them at least
};

// What one block says of one case.
struct MeasuredCase {
  size_t index = 0;            // among the gate's cases
  PerMetric<double> deltas{};  // block_deltas()
  std::optional<VoidBlock> voided{};
  std::optional<KernelFailure> failure{};
};

constexpr double kSuspicion = 0.05;  // a p value that says enough to look on

struct PairResult {
  LatencyOutcome outcome = LatencyOutcome::not_gated;
  LatencyReading reading;    // of the last look it was in
  bool confirmed = false;    // that look was of fresh blocks, after the screen
  std::string reason;        // one line
  bool needs_fresh = false;  // no screen passes it: its case is suspect, or an earlier gate left it undecided
};

struct CaseResult {
  std::string id, latency_class;
  PerMetric<Margin> margins;
  PerMetric<PairResult> pairs;
  int64_t blocks = 0, voids = 0;  // screen and confirm together
};

// Of its metrics, in the order of the enumeration.
LatencyOutcome worst_outcome(const CaseResult& of);

struct LatencyResult {
  std::vector<CaseResult> cases;
  std::vector<Finding> findings;
  int exit_code = 0;  // 0, 1 a regression or failure, 2 inconclusive, 3 invalid: precedence 1 > 3 > 2 > 0
  std::map<std::string, int64_t> void_blocks{};  // why -> blocks in which that voided at least one case
};

class LatencyGate {
 public:
  // Keeps copies. Throws UsageError for no case, and for one given twice.
  LatencyGate(LatencyPolicy policy, std::vector<GatedCase> cases, AlphaLedger ledger);

  // Cases of the next block, ascending; empty: done.
  std::vector<size_t> wanted() const;

  // One block of exactly the cases wanted, in that order; throws Error for others. A delta that is NaN voids the block
  // for that metric.
  void add(std::span<const MeasuredCase> block);

  // Of a gate that is not done: as if it ended here, undecided pairs inconclusive.
  LatencyResult result() const;

  // As it is now: to be saved after each add(), so that a gate that is killed has not been free of charge.
  AlphaLedger ledger() const;

 private:
  struct Pair {
    bool open = false;           // still to be decided
    bool suspect = false;        // in the family of those that may be slower: all that the screens left open
    bool hopeful = false;        // and of those that may be faster
    int64_t earlier = 0;         // gates of this base and change that left it undecided
    std::vector<double> deltas;  // of this stage
    int64_t lacking = 0;         // blocks of this stage that count, but not for this metric
    PairResult result;
  };
  struct State {
    PerMetric<Pair> pairs;
    int64_t voids = 0;  // of this stage
    int64_t all_blocks = 0;
    int64_t base_failures = 0;                 // blocks
    std::map<std::string, int64_t> all_voids;  // by why
  };
  struct VoidCount {
    int64_t blocks = 0, base = 0, change = 0;  // of any arm, of one alone
  };

  const std::vector<int64_t>& looks() const { return confirms_ ? policy_.looks : policy_.screens; }
  int64_t target() const { return looks()[look_]; }  // blocks of this stage that are needed now
  bool is_last_look() const { return look_ + 1 == looks().size(); }
  bool is_wanted(const State& state) const;
  bool is_too_many(int64_t voids, int64_t of) const;
  void take(const MeasuredCase& measured);
  void take_void(State& state, const std::string& why);
  void take_failure(State& state, const KernelFailure& failure);
  void take_delta(const MeasuredCase& measured, LatencyMetric metric);
  void count_voids(std::span<const MeasuredCase> block);
  void end_look();
  void read(size_t c, size_t metric);
  void pass_or_suspect(Pair& pair, const Margin& margin);
  void call(bool Pair::*family, double LatencyReading::*p, LatencyOutcome outcome, double alpha);
  void pass_or_go_on(Pair& pair, const Margin& margin);
  void begin_next_look();

  LatencyPolicy policy_;
  std::vector<GatedCase> cases_;
  AlphaLedger ledger_;
  double budget_ = 0;  // alpha of this gate
  std::vector<State> states_;
  bool confirms_ = false;  // the screen is over
  size_t look_ = 0;        // of this stage
  bool done_ = false;
  std::map<std::string, VoidCount> voids_;
};

// What earlier gates called slower and none of these cases is: told as findings, exit code 1.
void add_earlier_regressions(const AlphaLedger& ledger, std::span<const GatedCase> cases, LatencyResult& result);

// Which of the p values Holm's step-down procedure rejects, at the familywise error `alpha`: Holm, "A simple
// sequentially rejective multiple test procedure" (1979).
std::vector<bool> holm_rejections(std::span<const double> p, double alpha);

// Drives a gate to its end. `measure` gives one block of the cases asked for.
using MeasureBlock = std::function<std::vector<MeasuredCase>(const std::vector<size_t>& cases)>;
LatencyResult run_latency_gate(LatencyGate& gate, const MeasureBlock& measure);

}  // namespace assay
