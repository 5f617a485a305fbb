// What one case costs, and where the time goes: every check of a smoke case of each op on our own kernel, through a
// real judge and real workers. Manual counters are milliseconds of one case by phase (record.seconds); what is left of
// the wall time is messages, worker starts and waiting.
//
//   build/bin/cost_of_a_case [Google Benchmark flags]
#include <benchmark/benchmark.h>

#include <filesystem>
#include <map>
#include <memory>
#include <string>

#include "core/op.h"
#include "worker/judge_client.h"

namespace {

using namespace assay;

const std::filesystem::path kBuild = ASSAY_BUILD_DIR;

void cost(benchmark::State& state, const Op* op) {
  JudgeClient judge({.judge_program = kBuild / "bin/assay-judge", .worker_program = kBuild / "bin/assay-worker"});
  const KernelInfo kernel = judge.load(kBuild / "modules" / (std::string(op->name()) + "_simd.so")).at(0);
  const std::vector<Case> cases = op->cases(Tier::smoke);
  std::map<std::string, double> seconds;
  int64_t checked = 0;
  for (auto _ : state) {
    const Record record = judge.check(kernel, cases[static_cast<size_t>(checked++) % cases.size()]);
    for (const auto& [phase, spent] : record.seconds) seconds[phase] += spent;
  }
  for (const auto& [phase, spent] : seconds) {
    state.counters[phase + "_ms"] = 1e3 * spent / static_cast<double>(checked);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const OpRegistry ops = make_op_registry();
  for (const auto& op : ops.all()) {
    const auto cases = static_cast<benchmark::IterationCount>(op->cases(Tier::smoke).size());
    benchmark::RegisterBenchmark((std::string(op->name()) + "/simd").c_str(), cost, op.get())
        ->Unit(benchmark::kMillisecond)
        ->UseRealTime()
        ->Iterations(2 * cases);  // the first round computes the oracles, the second finds them
  }
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 4;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
