// Carries out a plan: asks the judge about each (kernel, case) that has no record yet, applies goldens and known
// issues, times what passed, and hands each record on as it completes. Touches no kernel and no device.
//
// With several jobs as many judges are at work at once, each on a case of its own, and on a module of its own while
// there are as many. What asks for a machine of its own comes last, one case after another: what is timed, and what
// takes much memory.
//
// A judge that dies is replaced and its case repeated once; a second death makes the record an `error`. When a stop is
// asked for, the case in flight is dropped, so that whatever the interruption did to it is never recorded.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "gate/judge.h"
#include "gate/plan.h"
#include "gate/policy.h"

namespace assay {

// Told what happens, for progress bars and lines.
class RunObserver {
 public:
  virtual ~RunObserver() = default;
  virtual void started(const PlannedCase&) {}
  virtual void recorded(const PlannedCase&, const Record&) {}
  virtual void judge_died(const PlannedCase&, const std::string& /*how*/) {}
};

struct RunJob {
  const Plan* plan = nullptr;
  const Policy* policy = nullptr;
  int jobs = 1;                          // judges at work at once
  bool beside_others = false;            // judges of other runs use the device too: no case is ever judged alone
  std::set<std::string> recorded;        // kernel ids that have a record already
  std::vector<LoadedLibrary> libraries;  // that the modules brought: known issues may be of some alone
  Facts environment;                     // or of some processors
  SamplePlan sampling;
  Date today{};
  std::string program = "assay";  // as it was called: repro lines begin with it
  // What follows the id in a repro line of that kernel: " --module ..." for a foreign one.
  std::function<std::string(const KernelInfo&)> repro_arguments = [](const KernelInfo&) { return std::string(); };
  StartJudge start_judge;  // this and the next two are called from several threads where there are several jobs
  std::function<void(const KernelInfo&, Record&)> apply_goldens;  // adds the results of the golden checks
  std::function<bool()> stop_asked = [] { return false; };
  std::function<void(const Record&)> append;  // one call at a time, as each of the observer
  // Asked, by one thread, when each planned case has its record; true when it has added one to *plan, which is judged
  // before the next is asked for, as a drawn case. Null: the plan is all there is.
  std::function<bool()> more;
  RunObserver* observer = nullptr;  // may be null
};

struct RunEnding {
  bool stopped = false;                  // before every planned case had its record and every judge had told
  std::vector<LoadedLibrary> libraries;  // seen after the last case, of every judge that lived to tell
};

RunEnding run_plan(const RunJob& job);

// What asks for a machine of its own is not.
bool may_be_beside_others(const PlannedCase& planned);

// Of a record that was made beside other judges: a failure stays what it is; of what did not fail it is not known yet
// whether it leaks.
bool is_known_alone(const Record& record);

// Differences between what was planned and what was recorded, one line each; empty when they agree.
std::vector<std::string> reconcile(const Plan& plan, const std::set<std::string>& recorded);

}  // namespace assay
