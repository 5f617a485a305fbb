// The policy a run is judged by: ci/policy/policy.toml (limits, required checks, known issues) and ci/policy/bench.toml
// (what is timed). In continuous integration both come from the base ref, so that a change does not grade itself.
#pragma once

#include <array>
#include <chrono>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/op.h"
#include "gate/canary_policy.h"
#include "gate/latency_policy.h"
#include "measure/environment.h"
#include "record/record.h"
#include "record/run_json.h"

namespace assay {

inline constexpr std::array kTiers{Tier::smoke, Tier::ci, Tier::nightly};

using Date = std::chrono::year_month_day;
std::string print_date(Date date);  // 2026-01-31
Date today();                       // in UTC

struct TierPolicy {
  double seconds = 0;        // longer is reported
  uint64_t least_cases = 0;  // fewer planned in an unfiltered run is a finding
  int warm_samples = 0;      // of a bench case
  int cold_samples = 0;
  double sampling_seconds = 0;  // at most, per bench case and metric
};

// A failure that is accepted until a date.
struct KnownIssue {
  std::string kernel;  // glob over kernel ids: of a record, or of the case beside it that failed
  Verdict verdict = Verdict::error;
  std::string reason;
  std::string owner;
  Date expires{};  // the last day on which it applies
  // That it is of, each as "libdnnl 3.9" or "libcudnn c278eb8abf82dd37": a file's name before ".so", and of what
  // `assay env`, run.json and records say of it the version, or its first numbers, or 16 digits or more of the
  // build-id, or of the hash of its code where that begins with "code-". Versions are those in file names, and two
  // packages of one library may differ in that. Empty: whatever is loaded.
  std::vector<std::string> libraries = {};
  std::vector<std::string> processor_lacks = {};  // instruction sets with which a library takes another way
  // What the record's selection must name as "isa", any of them: the code that a library chose, which the processor
  // alone does not tell (an old OpenBLAS takes a new processor for a Prescott). Empty: whatever it chose.
  std::vector<std::string> isa = {};
};
// Why the same failure is not the known one in this record, in few words: a library of the issue is another, or not
// alone of its name, or not there, or the processor has an instruction set it must lack, or is not known to lack it.
// Empty: it is that one. `brought` are the libraries that the kernel's module brought with it; the late ones are in the
// record.
std::string why_another(const KnownIssue& issue, const std::vector<LoadedLibrary>& brought, const Record& record,
                        const Facts& environment);

// Kernels that a tier judges by the cases of a smaller one.
struct Lighter {
  std::string kernel;  // glob over op/kernel
  Tier tier = Tier::ci;
  Tier cases = Tier::smoke;
  std::string reason;
};

// Ops that have no kernel of a target, and are not expected to.
struct NoKernel {
  std::string op;      // glob over ops
  std::string target;  // cpu or cuda
  std::string reason;
};

// Kernels that some machines cannot run.
struct NotEverywhere {
  std::string kernel;  // glob over op/kernel
  std::string reason;
};

struct Policy {
  std::filesystem::path folder;     // it was read from
  std::vector<std::string> checks;  // that every record must hold
  std::map<Tier, TierPolicy> tiers;
  double launch_seconds = 0;           // deadline of one launch, and of one prepare
  uint64_t worker_bytes = 0;           // resident size of a worker beyond what the judge gave it
  uint64_t workspace_limit_bytes = 0;  // the most a contract may declare
  std::vector<KnownIssue> known_issues;
  std::vector<Lighter> lighter;
  std::vector<NoKernel> no_kernel;
  std::vector<NotEverywhere> not_everywhere;
  std::optional<LatencyPolicy> latency;  // none: the policy is older than that gate, which then cannot be asked
  std::optional<CanaryPolicy> canary;    // likewise
};
Policy read_policy(const std::filesystem::path& folder);  // throws UsageError

struct BenchCase {
  std::vector<Tier> tiers;
  std::string workload;  // which real workload the dimensions are from
  Case c;
};
std::vector<BenchCase> read_bench(const std::filesystem::path& folder, const OpRegistry& ops);  // throws UsageError

// Checks the policy requires that this build does not have.
std::vector<std::string> missing_checks(const Policy& policy);

// Whether it lists a record's failure by the kernel id, or by that of the case beside it that failed.
bool is_of(const KnownIssue& issue, const Record& record, const std::string& of_case);

// Turns a failed record into `known` when unexpired issues list its verdict and that of every other check that failed:
// a known wrong result does not hide a new write out of bounds. `brought` is as for why_another(). A record that stays
// failed says of each issue that would have excused a failure of it with another library or processor why it does not.
// Call after conclude().
void apply_known_issues(const std::vector<KnownIssue>& issues, const std::vector<LoadedLibrary>& brought,
                        const Facts& environment, Date today, Record& record);

}  // namespace assay
