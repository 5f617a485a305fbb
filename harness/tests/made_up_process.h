// Timing processes that are made up: they note what they are asked, and answer as their world says.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "gate/block_meter.h"

namespace assay {

// What processes are asked, and what they answer.
struct TimedWorld {
  struct Asked {
    std::string kernel_id, module;
    TimePlan plan;
  };
  std::vector<std::vector<Asked>> processes;  // in the order they began
  std::vector<size_t> turns;                  // which process was asked to time, by when it began
  std::map<std::string, double> us_of_module{{"base.so", 100}, {"change.so", 100}};
  std::function<SentinelTime(size_t process)> sentinel = [](size_t) { return SentinelTime{50}; };
  std::function<Timed(size_t process, Timed timed)> answer = [](size_t, Timed timed) { return timed; };
  std::set<std::string> refused{};  // "MODULE KERNEL_ID"
  double seconds_spent = 0;         // by each
  std::set<size_t> deaths;          // of processes, by when they began
  std::vector<MachineState> states{MachineState{}};
  size_t readings = 0;
  size_t alive = 0, alive_when_read = 0;  // processes, now and at the last reading

  std::map<size_t, std::vector<std::string>> prepared;  // by process: "MODULE CASE"
  bool prepared_late = false;                           // after one was timed
  std::optional<size_t> dies_preparing;
  std::shared_ptr<std::mutex> preparing = std::make_shared<std::mutex>();
};

class MadeUpProcess : public TimingProcess {
 public:
  explicit MadeUpProcess(TimedWorld& world) : world_(world), number_(world.processes.size()) {
    world.processes.emplace_back();
    ++world.alive;
  }
  ~MadeUpProcess() override { --world_.alive; }
  MadeUpProcess(const MadeUpProcess&) = delete;
  MadeUpProcess& operator=(const MadeUpProcess&) = delete;
  void prepare(const KernelInfo& kernel, const Case& c) override {
    const std::lock_guard lock(*world_.preparing);
    if (world_.dies_preparing == number_) throw JudgeDied("the judge died");
    if (!world_.turns.empty()) world_.prepared_late = true;
    world_.prepared[number_].push_back(kernel.module.string() + " " + c.kernel_id(kernel.name));
  }
  Timed time(const KernelInfo& kernel, const Case& c, const TimePlan& plan) override {
    if (world_.deaths.contains(number_)) throw JudgeDied("the judge died");
    world_.turns.push_back(number_);
    world_.processes[number_].push_back({c.kernel_id(kernel.name), kernel.module.string(), plan});
    if (world_.refused.contains(kernel.module.string() + " " + c.kernel_id(kernel.name)))
      return {.refused = "too large"};
    Timed timed;
    timed.selection["algorithm"] = kernel.module.string();
    for (const auto& [metric, count] : {std::pair{"warm", plan.warm_samples}, {"cold", plan.cold_samples}}) {
      if (count == 0) continue;
      const auto ns = static_cast<int64_t>(1e3 * world_.us_of_module.at(kernel.module.string()));
      timed.metrics[metric].nanoseconds.assign(static_cast<size_t>((count + plan.turns - 1) / plan.turns), ns);
    }
    return world_.answer(number_, timed);
  }
  SentinelTime sentinel() override { return world_.sentinel(number_); }
  double seconds_spent() override { return world_.seconds_spent; }

 private:
  TimedWorld& world_;
  size_t number_;
};

// Of a kernel gemm/k that is base.so in one arm and change.so in the other.
inline ArmCase made_up_case(const OpRegistry& ops, const std::string& fields, const std::string& metric) {
  KernelInfo base, change;
  base.module = "base.so";
  change.module = "change.so";
  base.op = change.op = "gemm";
  base.name = change.name = "k";
  const Case c = ops.parse_case("gemm:" + fields);
  return {c.kernel_id("k"), metric, "cpu/" + metric + "/below-500us", base, change, c};
}

}  // namespace assay
