// The kernel id that repro and shrink are given, and the judgement of that kernel on any case of its op: the same that
// a run would give, one case at a time.
#pragma once

#include <memory>
#include <string>

#include "cli/loaded.h"
#include "cli/options.h"
#include "cli/trees.h"
#include "core/clock.h"
#include "gate/goldens.h"
#include "gate/policy.h"

namespace assay {

class OneCase {
 public:
  // Throws UsageError when options.id is not one kernel id, with what it lacks. Interrupts are noted from here on.
  explicit OneCase(const Options& options);
  OneCase(const OneCase&) = delete;  // its judge asks it whether it is cut short
  OneCase& operator=(const OneCase&) = delete;

  const Op& op() const { return ops_.named(asked_.op()); }
  const std::string& kernel() const { return kernel_; }
  const Case& asked() const { return asked_; }
  // Seconds that a launch, and a prepare, may take: the policy's, or what was set last. Setting it lets go of the
  // judge.
  double deadline() const { return settings_.deadline_seconds; }
  void set_deadline(double seconds);
  // When a judgement under way is cut short, as by an interruption; never, until this says when.
  void set_end(Clock::time_point end) { end_ = end; }
  bool is_cut_short() const;
  // Of no meaning where is_cut_short(). The judge stays for the next case.
  Record judge(const Case& c) const;
  // Whether each of its seeds looks right at a glance (worker/screening.h), in a fraction of the time. False too where
  // it was refused or nobody knows.
  bool looks_right(const Case& c, Verification by) const;
  // Of a case that was judged so under --library: how that was not the library it was asked to be.
  std::vector<std::string> library_contradictions(const Record& record) const;
  // A case that was judged so, as a file that shows it without Assay (gate/bundle.h) by the policy's deadline, in a new
  // folder. Why the file does not show that very failure, or empty. Throws UsageError when there can be no file.
  std::string write_bundle(const Case& c, const Record& record, const std::filesystem::path& folder) const;

 private:
  JudgeSettings make_settings() const;
  const KernelInfo& info() const;
  Contract contract_in_force(const Case& c) const;

  Clock::time_point end_ = Clock::time_point::max();
  Options options_;
  Trees trees_;
  Policy policy_;
  JudgeSettings settings_;
  OpRegistry ops_;
  Loaded loaded_;
  Goldens goldens_;
  std::string kernel_;
  Case asked_;
  StartJudge start_;
};

}  // namespace assay
