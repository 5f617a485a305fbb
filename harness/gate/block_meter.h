// Measures blocks of the A/B gate: four fresh processes, two an arm, alive at once. Case after case, in a drawn order,
// they take turns at timing it while the others wait, ABBA or BAAB by the flip of a coin, so that what the machine does
// for longer than a turn takes it does to all four. In each turn buffers lie where nothing but chance put them; inputs
// are of the same seed. A block that the machine disturbed is void for all of its cases; one in which a kernel failed,
// for that.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/draw.h"
#include "gate/disturbance.h"
#include "gate/timing_process.h"
#include "measure/blocks_file.h"

namespace assay {

// A case for the gate: a kernel in both arms, one case of its op, and whether its memory is in the caches.
struct ArmCase {
  std::string kernel_id;
  std::string metric;  // "warm", "cold", "first_call"
  std::string latency_class;
  KernelInfo base, change;
  Case c;
  std::string id() const { return kernel_id + " " + metric; }
  // Its launches were long enough to be timed one by one; whether they are must not change from turn to turn.
  bool is_single() const { return !latency_class.ends_with("/batched") && !latency_class.ends_with("/coarse"); }
};

class BlockMeter {
 public:
  struct Settings {
    std::vector<ArmCase> cases;
    StartTiming start;
    StartTiming start_change;  // of the change's processes, where they are started otherwise than the base's
    ReadMachine machine = machine_reader();
    std::function<bool()> stop_asked = [] { return false; };
    bool prepares_at_once = false;  // all processes together, before any is timed: where preparing takes long
    LatencyPolicy::Voids voids;
    LatencyPolicy::Samples samples;
    uint64_t seed = 0;  // of the coin and of every other draw
  };
  explicit BlockMeter(Settings settings);
  const std::vector<ArmCase>& cases() const { return settings_.cases; }

  // Block `number` of those cases, in that order; the same draws for a seed and a number. One in which a judge dies is
  // measured again, once; throws JudgeDied when that happens twice. Empty once a stop is asked for.
  std::vector<RecordedBlock> measure(int64_t number, const std::vector<size_t>& wanted);

  // Each kernel id of the cases in a process of its own arm's: planned and launched once, without samples. A judge that
  // dies is replaced as in measure().
  std::map<std::string, Timed> planned(bool of_change);
  bool prepares_at_once() const { return settings_.prepares_at_once; }

 private:
  struct Visit;
  struct Running;
  struct Measured;
  std::vector<Visit> visits(const std::vector<size_t>& wanted, Draw& draw) const;
  void prepare_at_once(std::vector<Running>& all, const std::vector<Visit>& cases) const;
  void take_turn(Running& running, const Visit& visit);
  std::optional<Measured> run_processes(BlockOrder order, Draw draw, const std::vector<size_t>& wanted);
  std::vector<RecordedBlock> concluded(int64_t number, BlockOrder order, const std::vector<size_t>& wanted,
                                       const Measured& measured) const;

  std::unique_ptr<TimingProcess> start(bool of_change) const {
    return of_change && settings_.start_change ? settings_.start_change() : settings_.start();
  }

  Settings settings_;
};

}  // namespace assay
