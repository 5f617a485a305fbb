// How often the latency gate errs on a machine, and which changes it finds there, from blocks recorded with the same
// build in both arms (measure/blocks_file.h): gates made of the half that calibration does not see, and known changes
// replayed into it (gate/latency_replay.h). Which blocks are void is by the policy's rules; a last table shows how far
// deltas scatter by what the host took meanwhile, by which such rules are chosen. Prints Markdown. Nothing is measured,
// so that it runs anywhere; what it says is of the machine and the day of the blocks.
//
//   build/bin/latency_error_rates BLOCKS.jsonl... [--policy ci/policy] [--gates 2000] [--cases 50] [--changed 1000]
//   [--seed 1]
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cmath>
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

double stolen_at_most(const RecordedBlock& block) {
  const auto by_stolen = [](const ProcessConditions& a, const ProcessConditions& b) { return a.stolen < b.stolen; };
  return std::ranges::max_element(block.conditions, by_stolen)->stolen;
}

// Root mean square of what is finite in `deltas`, in percent.
std::string scatter(const std::vector<double>& deltas) {
  double squares = 0, count = 0;
  for (const double delta : deltas) {
    if (!std::isfinite(delta)) continue;
    squares += delta * delta;
    ++count;
  }
  return count == 0 ? "" : fmt::format("{:.1f}", 100 * std::sqrt(squares / count));
}

// Of all blocks, void or not.
std::string by_what_the_host_took(const std::vector<RecordedBlock>& blocks, int64_t least_tail_samples) {
  constexpr std::array kShares{0.0, 0.005, 0.01, 0.02, 0.05, 0.10, 0.15, 0.20, 1.0};
  std::string text =
      "\n| the host took, % | blocks of single cases | void, % | scatter of p50, % | of p90, % |\n| --- | --- | --- | "
      "--- "
      "| --- |\n";
  for (size_t i = 0; i + 1 < kShares.size(); ++i) {
    int64_t count = 0, voids = 0;
    std::vector<double> p50, p90;
    for (const RecordedBlock& block : blocks) {
      const double stolen = stolen_at_most(block);
      const bool is_here = stolen >= kShares[i] && (stolen < kShares[i + 1] || i + 2 == kShares.size());
      if (!is_here || !block.block.is_measured()) continue;
      ++count;
      voids += block.is_void();
      const PerMetric<double> deltas = block_deltas(block.block, least_tail_samples);
      p50.push_back(deltas[static_cast<size_t>(LatencyMetric::p50)]);
      p90.push_back(deltas[static_cast<size_t>(LatencyMetric::p90)]);
    }
    if (count == 0) continue;
    text += fmt::format("| {:g} to {:g} | {} | {:.0f} | {} | {} |\n", 100 * kShares[i], 100 * kShares[i + 1], count,
                        100.0 * static_cast<double>(voids) / static_cast<double>(count), scatter(p50), scatter(p90));
  }
  return text;
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
      const auto voids = policy.latency->voids.find(target_of(block));
      if (voids == policy.latency->voids.end()) {
        throw UsageError(file + ": class '" + block.latency_class + "' is of no target; it begins with cpu/ or cuda/");
      }
      apply_void_rules(voids->second, block);
      next = std::max(next, block.number + 1);
      blocks.push_back(std::move(block));
    }
    first = next;
  }
  if (blocks.empty()) throw UsageError(files.front() + ": no blocks in it");
  return markdown(replay(*policy.latency, blocks, options), options) +
         by_what_the_host_took(blocks, policy.latency->tail_samples);
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
