// What seeded faults say of the checks: which check kills which fault, what each check adds, what survives, and how
// often a kernel without a fault is blamed. The faults are patches in harness/tests/mutants; build.py there makes a
// module of each and the list of them that read_faults() reads.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "record/record.h"

namespace assay {

struct SeededFault {
  std::string name;
  std::string target;      // "cpu" or "cuda"
  std::string module;      // that it is put into: "gemm_simd"
  std::string family;      // harness/tests/mutants/README.md lists them
  std::string witness;     // the id of a case in which it shows
  std::string what;        // one line
  bool precision = false;  // changes how exactly the kernel computes, and nothing else
  std::string survives{};  // why no case sees it, as far as is known; empty: one should
  std::string kernel() const { return witness.substr(0, witness.find(':')); }  // "gemm/simd"
};

struct SeededFaults {
  bool whole = false;  // every fault there is of their targets, not a sample
  std::vector<SeededFault> faults;
};
// folder/faults.json. Throws UsageError that names the file and what it lacks.
SeededFaults read_faults(const std::filesystem::path& folder);

// A case in which a kernel with a fault failed and the one without did not.
struct Kill {
  std::string id;  // kernel id
  Verdict verdict = Verdict::error;
  std::set<std::string> checks;  // that failed; kWithdrawn where the kernel refuses what it used to do
  double seconds = 0;            // that the case took without the fault
};
inline constexpr std::string_view kWithdrawn = "coverage";  // what no_longer_judged() of findings.h finds

// `control` is of the module without the fault; a case of which it has no passing record kills nothing.
std::vector<Kill> kills_between(const std::vector<Record>& control, const std::vector<Record>& spoilt);

// Which cases are of which tier, by case id.
struct TierCases {
  std::set<std::string> tier, smoke;
};

struct FaultTrial {
  SeededFault fault;
  std::vector<Kill> kills;
};

// What the cases of the tier say of one fault.
struct FaultOutcome {
  std::set<std::string> checks;          // that kill it; empty: it survives
  std::set<std::string> witness_checks;  // of a survivor: that its witness, which is no case of the tier, fails
  int64_t cases = 0;                     // that kill it
  std::string first;                     // of them, by kernel id; of a survivor the witness, where that fails
  bool in_smoke = false;                 // one of them is of the smoke tier
  bool without_goldens = false;          // one of the checks needs nothing approved before
};
FaultOutcome outcome_of(const FaultTrial& trial, const TierCases& cases);

struct KillTable {
  struct Row {
    int64_t faults = 0;
    int64_t killed = 0;           // by a case of the tier
    int64_t in_smoke = 0;         // by one of the smoke tier
    int64_t without_goldens = 0;  // by a check that needs nothing approved before
    int64_t witness_only = 0;     // by the witness, which is no case of the tier, and by no other
  };
  struct CheckRow {
    int64_t kills = 0;      // faults
    int64_t alone = 0;      // that no other check kills: what it adds
    int64_t precision = 0;  // of precision
  };
  Row all, precision;
  std::map<std::string, Row> families;
  std::map<std::string, CheckRow> checks;
  std::vector<SeededFault> survivors;  // that no case of the tier killed
};
KillTable tabulate(const std::vector<FaultTrial>& trials, const TierCases& cases);

// The one-sided upper confidence bound of a rate of which `seen` of `trials` were seen: Clopper and Pearson (1934).
double upper_bound_of_rate(int64_t seen, int64_t trials, double confidence = 0.95);

// A suite: cases of the tier, by id without the kernel, and what they do.
struct Suite {
  std::vector<std::string> cases;  // the most useful first
  double seconds = 0;              // on every kernel of their ops
  int64_t kills = 0;               // faults
};
// Seconds of each case of the tier, summed over the kernels of its op.
using CaseSeconds = std::map<std::string, double>;

// The cases that keep a share `keep` of the faults killed in the least time: greedy (Chvatal 1979: within a factor of
// 1 + ln of the largest case's kills of the best), then without those that the rest makes superfluous.
Suite least_suite(const std::vector<FaultTrial>& trials, const CaseSeconds& seconds, double keep);
Suite suite_of(const std::vector<FaultTrial>& trials, const CaseSeconds& seconds, const std::set<std::string>& cases);

// "gemm/simd:m=1" without its kernel: "gemm:m=1".
std::string case_of_kernel_id(const std::string& kernel_id);

}  // namespace assay
