#include "gate/timing_process.h"

#include <exception>
#include <utility>

namespace assay {
namespace {

class JudgeThatTimes : public TimingProcess {
 public:
  JudgeThatTimes(const JudgeSettings& settings, SeeLibraries seen) : judge_(settings), seen_(std::move(seen)) {}
  ~JudgeThatTimes() override {
    if (!seen_) return;
    try {
      seen_(judge_.libraries());
    } catch (const std::exception&) {
      return;  // it died: what it had loaded is not known, and nobody is told anything
    }
  }
  JudgeThatTimes(const JudgeThatTimes&) = delete;
  JudgeThatTimes& operator=(const JudgeThatTimes&) = delete;
  void prepare(const KernelInfo& kernel, const Case& c) override { judge_.prepare(kernel, c); }
  Timed time(const KernelInfo& kernel, const Case& c, const TimePlan& plan) override {
    return judge_.time(kernel, c, plan);
  }
  SentinelTime sentinel() override { return judge_.sentinel(); }
  double seconds_spent() override { return judge_.seconds_spent(); }

 private:
  JudgeClient judge_;
  const SeeLibraries seen_;
};

}  // namespace

StartTiming timing_process(JudgeSettings settings, SeeLibraries seen) {
  return [settings = std::move(settings), seen = std::move(seen)] {
    return std::make_unique<JudgeThatTimes>(settings, seen);
  };
}

}  // namespace assay
