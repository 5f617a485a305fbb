// canary.json of a canary's folder: the verdict, its reasons, and all that a page about it needs, for machines. Beside
// it lie the two sides, pin/ and candidate/, each a run's folder, and blocks.jsonl with the latencies of both.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>

#include "gate/canary_arms.h"
#include "gate/canary_verdict.h"
#include "gate/told_paths.h"
#include "record/run_json.h"

namespace assay {

inline constexpr const char* kCanaryFile = "canary.json";

struct CanaryReport {
  std::string library;
  std::string tier;
  std::vector<std::string> filters;  // empty: the whole corpus
  std::vector<std::string> modules;  // in the place of the build's own, by name
  std::string started, finished;     // RFC 3339, UTC
  double judged_seconds = 0;         // of this part, where it was interrupted
  const CanaryArm* pin = nullptr;
  const CanaryArm* candidate = nullptr;
  const Run* run = nullptr;  // of the pin's side: the machine and its label; none: nothing ran
  const CanaryEvidence* evidence = nullptr;
  const CanaryResult* result = nullptr;
  const ToldPaths* paths = nullptr;
};

nlohmann::json to_json(const CanaryReport& report);
void write_canary(const std::filesystem::path& folder, const CanaryReport& report);  // all of it or nothing

}  // namespace assay
