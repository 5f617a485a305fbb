// What check --fuzz does beside judging: draws the next case, learns from its record, and keeps what it found. A run
// that is resumed draws the same cases again and takes the records that are there for answers.
#pragma once

#include <map>

#include "cli/options.h"
#include "core/clock.h"
#include "gate/fuzz.h"
#include "record/record.h"

namespace assay {

// With a seed among the arguments too, so that a resumed run has it: one of nobody's choice where none was given.
Options with_seed(Options options);

class FuzzRun {
 public:
  // `earlier`: the records of the run when it is resumed; `ended`: that it drew all that it was to draw. Adds cases to
  // `plan`, which stays where it is.
  FuzzRun(const Options& options, const OpRegistry& ops, Plan& plan, const std::vector<Record>& earlier, bool ended);

  bool more();  // RunJob::more
  void learn(const Record& record) { fuzzer_.learn(record); }
  FuzzSummary summary() const { return fuzzer_.summary(); }
  std::vector<std::string> not_drawn() const { return fuzzer_.not_drawn(); }

 private:
  bool over() const;

  Plan& plan_;
  FuzzBudget budget_;
  std::map<std::string, Record> earlier_;  // not drawn again yet
  size_t recorded_ = 0;                    // before this part
  bool ended_;
  double spent_ = 0;  // on those, as their records say
  Clock::time_point start_ = Clock::now();
  Fuzzer fuzzer_;
};

}  // namespace assay
