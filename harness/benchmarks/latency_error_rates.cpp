// How often the latency gate errs on a machine, and which changes it finds there, from blocks recorded with the same
// build in both arms (measure/blocks_file.h): gates made of the half that calibration does not see, and known changes
// replayed into it (gate/latency_replay.h). Which blocks are void is by the policy's rules. Prints Markdown. Nothing is
// measured, so that it runs anywhere; what it says is of the machine and the day of the blocks.
//
//   build/bin/latency_error_rates BLOCKS.jsonl... [--policy ci/policy] [--gates 2000] [--cases 50] [--changed 1000]
//   [--seed 1]
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "core/error.h"
#include "gate/disturbance.h"
#include "gate/latency_replay.h"
#include "gate/policy.h"

namespace {

using namespace assay;

// A class begins with it: cpu/warm/longer.
std::string target_of(const RecordedBlock& block) {
  return block.latency_class.substr(0, block.latency_class.find('/'));
}

std::string error_rates(const std::vector<std::string>& files, const std::string& policy_folder,
                        const ReplayOptions& options) {
  const Policy policy = read_policy(policy_folder);
  if (!policy.latency) throw UsageError(policy_folder + "/policy.toml: latency: is missing; give the table [latency]");
  std::vector<RecordedBlock> blocks;
  int64_t first = 0;  // numbers go on from file to file
  for (const std::string& file : files) {
    int64_t next = first;
    for (RecordedBlock& block : read_blocks(file)) {
      block.number += first;
      apply_void_rules(policy.latency->voids.at(target_of(block)), block);
      next = std::max(next, block.number + 1);
      blocks.push_back(std::move(block));
    }
    first = next;
  }
  if (blocks.empty()) throw UsageError(files.front() + ": no blocks in it");
  return markdown(replay(*policy.latency, blocks, options), options);
}

int run(int argc, char** argv) {
  CLI::App app("Error rates of the latency gate, from recorded blocks in which base and change were one build");
  std::vector<std::string> files;
  std::string policy = "ci/policy";
  ReplayOptions options;
  app.add_option("blocks", files, "files blocks.jsonl, of one machine")->required();
  app.add_option("--policy", policy, "folder with policy.toml");
  app.add_option("--gates", options.gates, "unchanged gates of each class")->check(CLI::Range(1, 1000000));
  app.add_option("--cases", options.cases, "of a gate")->check(CLI::Range(1, 100000));
  app.add_option("--changed", options.changed, "cases with each known change")->check(CLI::Range(1, 1000000));
  app.add_option("--seed", options.seed, "of what is drawn");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : 4;
  }
  std::fputs(error_rates(files, policy, options).c_str(), stdout);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "latency_error_rates: %s\n", e.what());
    return 4;
  }
}
