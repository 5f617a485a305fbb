// The steps an examination is made of: planning, filling, launching, judging, comparing, and what is noted of each in
// the record. comparisons.h has further ones; examination.cpp says in which order they make the checks.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/clock.h"
#include "worker/examination.h"
#include "worker/sheet.h"
#include "worker/trial.h"

namespace assay {

// How often a launch is repeated in search of what is rare: at most `most` times, fewer where launches are long.
class Series {
 public:
  explicit Series(int most) : most_(most) {}
  bool goes_on() {
    ++begun_;
    return begun_ <= std::min(most_, kLeast) || (begun_ <= most_ && Clock::now() < end_);
  }

 private:
  static constexpr int kLeast = 2;
  int most_, begun_ = 0;
  Clock::time_point end_ = Clock::now() + std::chrono::milliseconds(100);
};

// The check "launch" of a kernel with which its worker was lost, where nothing says which bytes it touched.
CheckResult lost_at_launch(const ProcessLost& lost, const std::string& detail);

// The members from `contract_` on are known once a trial was planned.
class Steps {
 public:
  // No kernel kills itself by SIGKILL by accident: somebody else did, and the case is owed its answer. It is asked once
  // more.
  bool killed_from_outside() const { return killed_from_outside_; }

 protected:
  Steps(const Court& court, const KernelInfo& kernel, const Op& op, const Case& c);

  // What ends `work` early, a worker lost or a contract broken, becomes the result of its check.
  template <class Work>
  void attempt(const Work& work) {
    try {
      work();
    } catch (const ProcessLost& lost) {
      lose(lost);
    } catch (const ContractBroken& broken) {
      refuse(broken.what());
    } catch (const LaunchFailed& failed) {
      sheet_.set("launch", Outcome::fail, failed.what() + in_circumstances());
    }
  }

  // The case planned in the first worker, where contract, op and kernel agree that it is to be judged; if not, the
  // check "contract" or the record's verdict says why.
  std::optional<Trial> accepted();
  void refuse(const std::string& why);  // the contract is broken

  uint64_t seed() const { return static_cast<uint64_t>(case_.integer("seed")); }
  Trial plan(Subject& subject, const Case& c, const Trial::Setting& setting);
  // The same case and setting in `subject`, while others are at work: a plan of it waits for what is left.
  void begin_planning(Subject& subject) { Trial::begin(subject, *court_.memory, kernel_, op_, case_, setting_); }
  void map(Trial& trial, Addresses addresses);
  void fill(Trial& trial, uint64_t from);
  Outputs launch(Trial& trial, Poison poison, Manner manner = Manner::plain, Before before = Before::poison);
  // What the oracle says of it, added to the truth; of a large product of integers what verifies it instead.
  std::unique_ptr<Expectation> expect(const Trial& trial, uint64_t from);
  // The same of `c`, a case beside the one under judgement, and not added.
  std::unique_ptr<Expectation> expect_beside(const Trial& trial, const Case& c, uint64_t from);
  // The same of inputs that were changed after they were filled.
  std::unique_ptr<Expectation> expect_changed(const Trial& trial, const Case& c);
  CheckResult judge(const Outputs& got, Expectation& expectation, const Contract& contract,
                    std::vector<ErrorSummary>& errors);
  // Both at once, with add_to_hash(), and without keeping what the oracle says (Laboratory::judge_once).
  std::vector<ErrorSummary> judge_once(const Trial& trial, const Outputs& got, uint64_t from);
  std::string difference(const Outputs& a, const Outputs& b);
  // Over the one poison and over the other.
  bool all_written(const Outputs& once, const Outputs& again);
  // "y[3] 1 became 2": element `i` of either.
  std::string change(const TensorSpec& spec_before, const Content& before, const TensorSpec& spec_after,
                     const Content& after, int64_t i) const;
  uint64_t hash_of(const Outputs& outputs, uint64_t before = 0);
  // The record's hash is of the outputs that were added, in order.
  void add_to_hash(const Outputs& outputs);
  void note_hash();
  // Hash and trust of the answer under judgement.
  void note_output();
  void note_seed(uint64_t from, const std::vector<ErrorSummary>& errors);
  size_t index_of(const std::string& tensor) const;
  size_t output_position(const std::string& tensor) const;
  void lose(const ProcessLost& lost);
  std::string in_circumstances() const { return circumstance_.empty() ? "" : ", " + circumstance_; }
  // Empty when the fault was near none of the case's buffers.
  std::string where_it_stepped(const nlohmann::json& fault) const;
  void leave_no_process_behind();

  const Court& court_;
  const KernelInfo& kernel_;
  const Op& op_;
  const Case& case_;
  Trial::Setting setting_;
  Sheet sheet_;
  Contract contract_;
  std::vector<TensorSpec> tensors_;
  std::vector<size_t> outputs_;  // indexes into tensors_
  Outputs base_;
  std::unique_ptr<Expectation> expectation_;  // of base_
  TruthBuilder truth_;
  bool knows_truth_ = true;  // every expectation gave its elements to it
  uint64_t hash_ = 0;
  std::string unreached_;     // why a check without a result has none
  std::string circumstance_;  // of a launch that is not as others are: "at other addresses"
  int launches_ = 0;
  bool killed_from_outside_ = false;

 private:
  std::nullopt_t refused(const std::string& why);
  void note_selection(const Trial& trial);
};

}  // namespace assay
