// The judge as the coordinator needs it. worker/judge_client.h is the real one, behind judge_process(); tests bring
// their own.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "worker/judge_client.h"

namespace assay {

class Judge {
 public:
  virtual ~Judge() = default;
  // Each as in JudgeClient; any of them may throw JudgeDied.
  virtual std::vector<KernelInfo> load(const std::filesystem::path& module) = 0;
  virtual Record check(const KernelInfo& kernel, const Case& c, Company company) = 0;
  virtual std::vector<Screened> screen(const KernelInfo& kernel, std::span<const Case> cases, Verification by) = 0;
  virtual Probed probe(const KernelInfo& kernel, const Case& c, const std::string& output, bool fresh) = 0;
  virtual Contract plan_contract(const KernelInfo& kernel, const Case& c) = 0;
  virtual void sample(const KernelInfo& kernel, const Case& c, const SamplePlan& plan, Record& record) = 0;
  virtual std::vector<LoadedLibrary> libraries() = 0;
};

// judge.load(module), once more when it fails: a worker may have been killed from outside just then.
std::vector<KernelInfo> load_steadily(Judge& judge, const std::filesystem::path& module);

using StartJudge = std::function<std::unique_ptr<Judge>()>;

// Starts a judge process each time it is called.
StartJudge judge_process(JudgeSettings settings);

// Hands one judge to each run in turn, and a new one where that died.
StartJudge lending(StartJudge start);

}  // namespace assay
