// The plan: every (kernel, case) a run owes a record for, fixed before the first one runs and reconciled with what was
// recorded after the last.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "core/op.h"
#include "gate/policy.h"
#include "worker/judge_client.h"

namespace assay {

// Part `index` (from 1) of `count`. Which part a kernel id belongs to depends on the id alone.
struct Shard {
  int index = 1;
  int count = 1;
  bool holds(const std::string& kernel_id) const;
};
Shard parse_shard(const std::string& text);  // "2/4"; throws UsageError

enum class Timing {
  none,  // the tier's cases, checked
  only,  // the bench cases, checked and then timed
  also,  // both
};

struct PlanRequest {
  Tier tier = Tier::smoke;
  Timing timing = Timing::none;
  std::vector<std::string> filters;
  Shard shard;
  std::string device = "cpu";
  std::vector<Lighter> lighter;  // the first that names a kernel and the tier counts
  int64_t reseed = 0;            // added to the seed of every case
  std::vector<Case> stored{};    // of golden/cases: from tier ci on every kernel of the op is asked them
};

struct PlannedCase {
  size_t kernel = 0;  // index into Plan::kernels
  Case c;
  std::string id;      // kernel id
  bool timed = false;  // sampled once it has passed
  bool large = false;  // takes so much memory that no other is to be judged at the same time
};

struct Plan {
  std::vector<KernelInfo> kernels;
  std::vector<PlannedCase> cases;  // grouped by module
  std::vector<size_t>
      other_device;  // selected kernels whose target is not the run's device; no case of theirs is planned
  std::vector<LeftOut> left_out{};  // cases of the tier that the policy spares a kernel
  const KernelInfo& kernel_of(const PlannedCase& planned) const { return kernels[planned.kernel]; }
};

// One line a kernel: "20 cases of softmax/cudnn left out, judged by the cases of tier smoke: seconds a case".
std::vector<std::string> left_out_lines(const std::vector<LeftOut>& left_out);

// "2 kernels not run, target other than cpu: gemm/a (cuda), gemm/b (cuda)"; empty when there is none.
std::string other_device_text(const Plan& plan, const std::string& device);

// Throws UsageError when two modules bring a kernel of one name, a filter names or matches nothing, or nothing is
// planned.
Plan make_plan(const OpRegistry& ops, std::vector<KernelInfo> kernels, const std::vector<BenchCase>& bench,
               const PlanRequest& request);

// A plan without a case, to which cases are added as they are drawn (gate/fuzz.h): kernels as in make_plan(), and those
// selected that are not of the run's device. Throws UsageError as make_plan() does for kernels and filters.
Plan plan_without_cases(const OpRegistry& ops, std::vector<KernelInfo> kernels, const PlanRequest& request);

// Every case an op lists in any tier, every bench case and every stored case: what a run may plan without being given
// an id.
std::vector<Case> every_case(const OpRegistry& ops, const std::vector<BenchCase>& bench,
                             const std::vector<Case>& stored);

}  // namespace assay
