// The numbers of the A/B gate of latency, the table [latency] of ci/policy/policy.toml: how many blocks, which error
// rates, and which changes matter.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "measure/block.h"

namespace assay {

class TomlTable;

struct LatencyPolicy {
  double alpha = 0;              // chance that one change that moves nothing is ever called slower, re-runs included
  double confidence = 0;         // of the one-sided upper bounds that pass
  std::vector<int64_t> screens;  // blocks after which cases may pass, the first of every case
  std::vector<int64_t> looks;    // fresh blocks after which those that did not are judged
  std::vector<double> spends;    // the share of alpha of each look; together 1
  double void_share = 0;         // of a case's blocks; more void ones make it invalid,
  int64_t void_blocks = 0;       // once they are more than that share of so many, or of twice those that it needs
  int64_t tail_samples = 0;      // the least a process needs for its tail and stalls to count
  double prior_freedom = 0;      // the most degrees of freedom of the past in the screen
  double margin_errors = 0;      // a margin is so many calibrated standard errors or more
  struct Changes {
    double least = 0;   // what a change must exceed, beyond doubt, to be called slower
    double margin = 0;  // what it must not reach, at `confidence`, to pass; of a class that is too noisy it is more,
    int64_t margin_blocks = 0;  // standard errors of an estimate from so many blocks
  };
  PerMetric<Changes> changes;  // 0.02: 2 % slower (p50, p90), or 2 more of 100 samples (tail, stall)
  struct Voids {
    double steal = 0;     // most of the processor time there was that the host may have taken, as a fraction
    double foreign = 0;   // most of it that processes other than ours may have used
    double sentinel = 0;  // most by which the sentinel may differ between the processes of a block
  };
  std::map<std::string, Voids> voids;  // by target: cpu, cuda
  struct Samples {
    int64_t warm = 0, cold = 0;  // of a process, at most
    double seconds = 0;          // and so long, for each
    int64_t enough = 0;          // the policy's tail_samples, for which each
    double tail_seconds = 0;     // may take so long
    int64_t turns = 1;           // among which they are shared
  };
  std::map<std::string, Samples> samples;  // likewise
};

LatencyPolicy read_latency_policy(TomlTable table);  // throws UsageError

}  // namespace assay
