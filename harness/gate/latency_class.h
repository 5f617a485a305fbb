// A class of cases (a device, a kind of kernel, a range of durations) as its calibration found it, blocks in which base
// and change are one build, and the margins that follow: what the gate can see there, said with every result.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gate/latency_policy.h"
#include "measure/block.h"
#include "measure/blocks_file.h"
#include "measure/moderated_t.h"

namespace assay {

struct LatencyClass {
  std::string name;
  int64_t blocks = 0;           // of single cases; 0: nobody has calibrated it
  PerMetric<Variance> prior{};  // of the delta of one block, over its cases
  PerMetric<double> error{};    // standard error of an estimate from the metric's margin_blocks; infinite: not known
  PerMetric<double> largest{};  // of its cases' errors: what is known of a case that has none of its own
  // Each case's own, likewise; none where more of its blocks lack that metric than may be void.
  struct Noise {
    Variance variance;
    double error = 0;
  };
  std::map<std::string, PerMetric<std::optional<Noise>>> cases;
};

// By class. Void blocks are left out. A class's cases should have blocks from many processes each, not only be many: 24
// of a case show how often the machine is disturbed, five are the least from which an error follows. A case with fewer
// than 24 is taken to be as noisy as the noisiest of its class.
std::map<std::string, LatencyClass> calibrate(const LatencyPolicy& policy, std::span<const RecordedBlock> blocks);

struct Margin {
  bool gates = false;
  double least = 0;  // the policy's, as a delta
  // Likewise, or more where class or case is noisier than that: then it is blind to the policy's. A case with
  // too little of a calibration may be as noisy as the noisiest of its class.
  double margin = 0;
  bool blind = false;
  bool unproven = false;  // no calibration shows that the samples of this case have the metric
  std::string note;       // why it does not gate, or to what it is blind; empty otherwise
};

// A case for the gate.
struct GatedCase {
  std::string id, latency_class;
  PerMetric<Margin> margins;
  PerMetric<Variance> priors{};  // of the delta of one block: the class's and the case's own past
  bool is_suspect = false;       // something else says that it may have moved: no screen passes it
};
// One that the calibration does not have, or a class that it does not, gets what is known of the rest.
GatedCase gated_case(const LatencyPolicy& policy, const LatencyClass& of, const std::string& id);

}  // namespace assay
