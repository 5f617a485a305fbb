// What a judge is started with: its programs, its device and its limits. The coordinator sends it first (protocol.md).
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <vector>

#include "check/sanitizer_log.h"
#include "device/device.h"
#include "worker/library_set.h"

namespace assay {

struct JudgeSettings {
  std::filesystem::path judge_program;              // assay-judge
  std::filesystem::path worker_program;             // assay-worker
  std::vector<std::filesystem::path> library_path;  // put before LD_LIBRARY_PATH of workers
  LibrarySet library_set;                           // under which workers run; its folders come before library_path
  std::filesystem::path oracle_cache;               // folder; empty: no cache
  Device device = Device::cpu;
  std::optional<Sanitizer> sanitizer;       // check() runs kernels under it, and does nothing else
  std::filesystem::path sanitizer_program;  // compute-sanitizer
  // In all tensors of a case, padding too: from so many on, a GPU's memory holds what the judge compares, and it
  // compares. Below, some tens of microseconds for each allocation and kernel cost more than a host's loops.
  int64_t elements_on_device = int64_t{1} << 20;
  // From so many products on (m n k of a gemm, all of its batch together) a product of integers is judged by Freivalds
  // (check/freivalds.h), where that proves as much as the oracle.
  int64_t products_verified = int64_t{1} << 32;
  int threads = 2;                           // each launch may use
  double deadline_seconds = 20;              // of one launch, and of one prepare
  uint64_t memory_limit_bytes = 4ull << 30;  // resident size of a worker above what the judge gave it
  // The coordinator's own, not sent: asked while an answer is awaited, from several threads; true ends the judge, and
  // the question gets JudgeStopped.
  std::function<bool()> stop_asked = nullptr;
};

nlohmann::json to_json(const JudgeSettings& settings);
// Throws UsageError for a device that cannot be used here.
JudgeSettings judge_settings_from_json(const nlohmann::json& value);

}  // namespace assay
