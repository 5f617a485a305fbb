#include "gate/judge.h"

#include "core/error.h"

namespace assay {
namespace {

class JudgeProcess : public Judge {
 public:
  explicit JudgeProcess(const JudgeSettings& settings) : client_(settings) {}
  std::vector<KernelInfo> load(const std::filesystem::path& module) override { return client_.load(module); }
  Record check(const KernelInfo& kernel, const Case& c) override { return client_.check(kernel, c); }
  std::vector<Screened> screen(const KernelInfo& kernel, std::span<const Case> cases) override {
    return client_.screen(kernel, cases);
  }
  Probed probe(const KernelInfo& kernel, const Case& c, const std::string& output, bool fresh) override {
    return client_.probe(kernel, c, output, fresh);
  }
  Contract plan_contract(const KernelInfo& kernel, const Case& c) override { return client_.plan_contract(kernel, c); }
  void sample(const KernelInfo& kernel, const Case& c, const SamplePlan& plan, Record& record) override {
    client_.sample(kernel, c, plan, record);
  }
  std::vector<LoadedLibrary> libraries() override { return client_.libraries(); }

 private:
  JudgeClient client_;
};

}  // namespace

std::vector<KernelInfo> load_steadily(Judge& judge, const std::filesystem::path& module) {
  try {
    return judge.load(module);
  } catch (const UsageError&) {
    return judge.load(module);
  }
}

StartJudge judge_process(JudgeSettings settings) {
  return [settings = std::move(settings)] { return std::make_unique<JudgeProcess>(settings); };
}

}  // namespace assay
