// Whether launches that were timed gave the answer of the case. A kernel can tell that it is timed, by its environment
// or by how often it is called, and a latency is of its answer.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>

#include "core/op.h"
#include "worker/judge_client.h"
#include "worker/laboratory.h"
#include "worker/trial.h"

namespace assay {

// What a timed launch left is not the answer, or lies where nothing may be written.
struct WrongWhenTimed : std::runtime_error {
  explicit WrongWhenTimed(CheckResult what)
      : std::runtime_error(what.check + ": " + what.detail), result(std::move(what)) {}
  CheckResult result;  // the check that fails
};

// Of one case on one kernel, in one process that times.
class TimedAnswer {
 public:
  // Throws WrongWhenTimed. `trial` has left `got` where the launches of `metric` were. `promised`, where it is known
  // and must come again, is the hash of the bytes that other processes gave. Without it an answer is judged by the
  // oracle, unless it is one that was.
  void check(const JudgeSettings& settings, Laboratory& laboratory, const Op& op, const Case& c, const Trial& trial,
             const Outputs& got, const std::string& metric, const std::optional<uint64_t>& promised);

 private:
  std::set<uint64_t> judged_right_;  // hashes
};

}  // namespace assay
