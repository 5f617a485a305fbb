// Measures blocks of the A/B gate: four fresh processes, two an arm, in an order by the flip of a coin, each timing the
// cases wanted in an order of its own, with buffers that lie where nothing but chance put them and the inputs of the
// same seed. A block that the machine disturbed is void for all of its cases; one in which a kernel failed, for that.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "gate/timing_process.h"
#include "measure/blocks_file.h"

namespace assay {

// A case for the gate: a kernel in both arms, one case of its op, and whether its memory is in the caches.
struct ArmCase {
  std::string kernel_id;
  std::string metric;  // "warm", "cold"
  std::string latency_class;
  KernelInfo base, change;
  Case c;
  std::string id() const { return kernel_id + " " + metric; }
};

class BlockMeter {
 public:
  struct Settings {
    std::vector<ArmCase> cases;
    StartTiming start;
    ReadMachine machine = read_machine;
    LatencyPolicy::Voids voids;
    LatencyPolicy::Samples samples;
    uint64_t seed = 0;  // of the coin and of every other draw
  };
  explicit BlockMeter(Settings settings);
  const std::vector<ArmCase>& cases() const { return settings_.cases; }

  // Block `number` of those cases, in that order; the same draws for a seed and a number. Throws JudgeDied when two
  // processes in a row end before they have said anything.
  std::vector<RecordedBlock> measure(int64_t number, const std::vector<size_t>& wanted);

  // Each kernel id of the cases in a process of its own arm's: planned and launched once, without samples.
  std::map<std::string, Timed> planned(bool of_change);

 private:
  struct Sampled;
  Sampled run_process(bool is_change, uint64_t seed, const std::vector<size_t>& wanted);
  std::vector<RecordedBlock> concluded(int64_t number, BlockOrder order, const std::vector<size_t>& wanted,
                                       const std::vector<Sampled>& processes) const;

  Settings settings_;
};

}  // namespace assay
