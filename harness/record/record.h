// The record: everything learned about one (case, kernel). One JSON line each in records.jsonl; record.schema.json
// beside this file describes that line. Plain data; checks, measure and the judge fill it in.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace assay {

inline constexpr int kRecordSchemaMajor = 1;  // readers refuse a newer one
inline constexpr int kRecordSchemaMinor = 11;

// What one check found.
enum class Outcome {
  pass,
  fail,
  weak,            // passed against a bound that is not rigorous (unknown depth) or vacuous, or, drawn, proves little
  no_baseline,     // nothing approved to compare with: counted, not a pass
  not_applicable,  // the op or the contract gives this check nothing to do; detail says why
  skipped,         // could have been done and was not; detail says why; counted
};

// The word for a whole record, ordered by severity: the worst check's word wins. The published table, with each word's
// exit code, is kVerdicts in verdict.h.
enum class Verdict {
  pass,
  unsupported,  // outside the contract's domain or this machine's abilities, with a reason
  known,        // fails, and policy lists it as a known issue that has not expired
  mistrusted,   // random inputs, but outputs nearly all zero or constant: proves little
  inconclusive,
  invalid,           // latency asked of a machine too disturbed or not pinned
  changed,           // within bounds, but not what was approved
  fallback,          // the kernel gave the work to another and its contract forbids that
  contract,          // claims more than its op allows, refuses what it claims, or computes what it does not
  nondeterministic,  // a promised invariance is broken
  memory,            // wrote or kept what is not its own, left output unwritten, or allocated without bound
  wrong,             // outside the rigorous bound
  timeout,
  crashed,  // died by signal, exited, or reported a launch error
  error,    // the harness failed; not the kernel's fault
};

// Check names are a closed set (check_names() in verdict.h), so that a missing check is noticed.
struct CheckResult {
  std::string check;
  Outcome outcome = Outcome::pass;
  Verdict verdict = Verdict::pass;  // what a fail makes of the record
  std::string detail;               // one line; for a failure: index, got, want, bound
  // Kernel id of the case beside the record's that failed, or that was asked and found right; empty: the record's own,
  // or several.
  std::string of_case = {};

  bool operator==(const CheckResult&) const = default;
};

// Bucket i of an error histogram counts edge[i-1] < q <= edge[i]; one more, the last, counts what lies above or is NaN.
// Elements above 1 can still be right: the rounding of a narrow output is outside E.
inline constexpr std::array<double, 20> kErrorHistogramEdges{0,      0x1p-12, 0x1p-11, 0x1p-10, 0x1p-9, 0x1p-8, 0x1p-7,
                                                             0x1p-6, 0x1p-5,  0x1p-4,  0x1p-3,  0x1p-2, 0x1p-1, 1,
                                                             2,      4,       8,       16,      32,     64};

// Error statistics of one output tensor. q = |got - r| / E over elements with E > 0.
struct ErrorSummary {
  std::string tensor;
  int64_t elements = 0;
  int64_t exact = 0;        // judged bit for bit (T0)
  int64_t rigorous = 0;     // judged against E (T1)
  int64_t weak = 0;         // E rests on an unknown depth
  int64_t vacuous = 0;      // E >= |r|: the bound says nothing
  int64_t no_evidence = 0;  // an intermediate may overflow, or correct implementations differ
  int64_t failures = 0;
  double max_q = 0;
  double rms_q = 0;
  double mean_signed_q = 0;     // mean of (got - r)/E
  double misrounded = 0;        // fraction of elements with got != round(r)
  double mean_signed_ulps = 0;  // mean of (got - round(r)) in output ulps
  int64_t worst_index = -1;     // logical element of max_q, or of the first failure
  double worst_got = 0, worst_want = 0, worst_bound = 0;
  std::vector<int64_t> histogram;  // counts of q, one more than kErrorHistogramEdges; empty when nothing has a q

  bool operator==(const ErrorSummary&) const = default;
};

// Statistics of one seed, kept as golden for the statistical tier.
struct SeedStatistics {
  uint64_t seed = 0;
  double misrounded = 0;
  double mean_signed_ulps = 0;
  double rms_q = 0;
  double mean_signed_q = 0;

  bool operator==(const SeedStatistics&) const = default;
};

// One metric of one case, from raw samples kept in the run folder. Microseconds.
struct LatencySummary {
  std::string metric;  // "warm", "cold", "prepare", "first_call"
  int64_t samples = 0;
  double p50_us = 0, p90_us = 0, p99_us = 0, mean_us = 0;
  double tail_mass = 0;      // P(x > 1.05 * p50)
  double quantum_us = 0;     // of the timer
  double batch = 1;          // launches a sample
  bool coarse = false;       // a launch is shorter than the clock resolves well, and could not be batched
  std::string samples_file;  // relative to the run folder
  int64_t involuntary_switches = 0;
  double sm_mhz = 0, sm_mhz_low = 0;  // of a GPU while it was sampled: median and lowest; 0: none, or not known

  bool operator==(const LatencySummary&) const = default;
};

// How the reason of `unsupported` begins when the kernel itself cannot run here, whatever the case: it lacks an
// instruction set or a device. What it lacks follows.
inline constexpr std::string_view kNotAvailable = "not available on this machine: ";

struct Record {
  std::string kernel_id;  // op/kernel:fields, the key
  std::string op, kernel, target, owner;
  std::string module_hash;  // of the module's machine code and read-only data
  Verdict verdict = Verdict::error;
  std::string reason;  // one line: why this verdict
  std::vector<CheckResult> checks;
  std::vector<ErrorSummary> errors;
  std::vector<SeedStatistics> seeds;
  std::string output_hash;       // of every output's bytes, in order, for the observed golden
  std::string truth_hash;        // of the oracle's rounded outputs
  std::string worst_input = {};  // of a sweep (fill=every): bits of the input at worst_index, "3f9d70a4"
  std::map<std::string, std::string> selection;  // what describe() said
  uint64_t workspace_bytes = 0;
  int64_t resident_growth_bytes = 0;  // of the worker over the repeated launches
  int interruptions = 0;              // the worker was killed from outside and the case repeated
  // Of libraries that the module's processes mapped after it was loaded, in this case or one before it: identity() of
  // run_json.h, ascending. Those it brought with it are in run.json alone.
  std::vector<std::string> late_libraries = {};
  std::vector<LatencySummary> latency;
  std::map<std::string, double> seconds;  // where the time went: prepare, map, fill, launch, oracle, check, sample
  std::string repro;                      // one line that replays exactly this case

  bool operator==(const Record&) const = default;
};

}  // namespace assay
