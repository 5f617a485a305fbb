#include "gate/judge.h"

#include "core/error.h"

namespace assay {
namespace {

class JudgeProcess : public Judge {
 public:
  explicit JudgeProcess(const JudgeSettings& settings) : client_(settings) {}
  std::vector<KernelInfo> load(const std::filesystem::path& module) override { return client_.load(module); }
  Record check(const KernelInfo& kernel, const Case& c, Company company) override {
    return client_.check(kernel, c, company);
  }
  std::vector<Screened> screen(const KernelInfo& kernel, std::span<const Case> cases, Verification by) override {
    return client_.screen(kernel, cases, by);
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

// A judge that outlives the run it is given to, and is given to the next one unless it died.
class Lent : public Judge {
 public:
  explicit Lent(std::shared_ptr<std::unique_ptr<Judge>> judge) : judge_(std::move(judge)) {}
  std::vector<KernelInfo> load(const std::filesystem::path& module) override {
    return unless_it_dies([&] { return (*judge_)->load(module); });
  }
  Record check(const KernelInfo& kernel, const Case& c, Company company) override {
    return unless_it_dies([&] { return (*judge_)->check(kernel, c, company); });
  }
  std::vector<Screened> screen(const KernelInfo& kernel, std::span<const Case> cases, Verification by) override {
    return unless_it_dies([&] { return (*judge_)->screen(kernel, cases, by); });
  }
  Probed probe(const KernelInfo& kernel, const Case& c, const std::string& output, bool fresh) override {
    return unless_it_dies([&] { return (*judge_)->probe(kernel, c, output, fresh); });
  }
  Contract plan_contract(const KernelInfo& kernel, const Case& c) override {
    return unless_it_dies([&] { return (*judge_)->plan_contract(kernel, c); });
  }
  void sample(const KernelInfo& kernel, const Case& c, const SamplePlan& plan, Record& record) override {
    unless_it_dies([&] { (*judge_)->sample(kernel, c, plan, record); });
  }
  std::vector<LoadedLibrary> libraries() override { return {}; }  // those of loading are known

 private:
  template <class Ask>
  std::invoke_result_t<Ask> unless_it_dies(const Ask& ask) {
    try {
      return ask();
    } catch (const JudgeDied&) {
      judge_->reset();
      throw;
    }
  }
  std::shared_ptr<std::unique_ptr<Judge>> judge_;
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

StartJudge lending(StartJudge start) {
  auto judge = std::make_shared<std::unique_ptr<Judge>>();
  return [start = std::move(start), judge] {
    if (*judge == nullptr) *judge = start();
    return std::make_unique<Lent>(judge);
  };
}

}  // namespace assay
