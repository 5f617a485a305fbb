// A fresh process that times kernels of one arm.
#pragma once

#include <functional>
#include <memory>

#include "worker/judge_client.h"

namespace assay {

class TimingProcess {
 public:
  virtual ~TimingProcess() = default;
  // As in JudgeClient; either may throw JudgeDied.
  virtual void prepare(const KernelInfo& kernel, const Case& c) = 0;
  virtual Timed time(const KernelInfo& kernel, const Case& c, const TimePlan& plan) = 0;
  virtual SentinelTime sentinel() = 0;
  virtual double seconds_spent() = 0;
};
using StartTiming = std::function<std::unique_ptr<TimingProcess>()>;

// A judge that holds the memory and is idle otherwise, with the worker that times. `seen`, where it is given, is told
// what each process had loaded in the end.
using SeeLibraries = std::function<void(const std::vector<LoadedLibrary>&)>;
StartTiming timing_process(JudgeSettings settings, SeeLibraries seen = nullptr);

}  // namespace assay
