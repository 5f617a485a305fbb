// A run of the coordinator over the fake ops, kernels and judges of gate_fakes.h, and the records that it leaves.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "gate/coordinator.h"
#include "gate_fakes.h"

namespace assay {

inline const std::string kFirst = "gemm/openblas:m=1,n=1,dtype=f32";
inline const std::string kSecond = "gemm/openblas:m=1,n=2,dtype=f32";

class GateRun : public ::testing::Test {
 protected:
  GateRun() {
    policy.workspace_limit_bytes = 1 << 20;
    job.policy = &policy;
    job.today = day(2026, 1, 15);
    job.start_judge = [this] { return std::make_unique<FakeJudge>(script); };
    job.apply_goldens = [](const KernelInfo&, Record&) {};
    job.append = [this](const Record& record) { records.push_back(record); };
  }

  RunEnding run(const PlanRequest& request = {}, const std::vector<BenchCase>& bench = {},
                std::vector<KernelInfo> kernels = fake_kernels()) {
    plan = make_plan(ops, std::move(kernels), bench, request);
    job.plan = &plan;
    return run_plan(job);
  }

  const Record& of(const std::string& id) {
    for (const Record& record : records) {
      if (record.kernel_id == id) return record;
    }
    throw std::runtime_error("no record of " + id);
  }

  std::set<std::string> recorded_ids() {
    std::set<std::string> ids;
    for (const Record& record : records) ids.insert(record.kernel_id);
    return ids;
  }

  std::vector<BenchCase> bench_of(const std::string& id) { return {{{Tier::smoke}, "w", ops.parse_case(id)}}; }

  OpRegistry ops = fake_ops();
  Policy policy;
  JudgeScript script;
  Plan plan;
  RunJob job;
  std::vector<Record> records;
};

}  // namespace assay
