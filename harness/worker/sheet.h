// A record while it is being filled in: check results by name, times by phase.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "record/record.h"
#include "record/verdict.h"

namespace assay {

// Adds the time since its making to an entry of record.seconds.
class Stopwatch {
 public:
  Stopwatch(Record& record, const char* phase) : seconds_(&record.seconds[phase]), start_(Clock::now()) {}
  ~Stopwatch() { *seconds_ += std::chrono::duration<double>(Clock::now() - start_).count(); }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

 private:
  using Clock = std::chrono::steady_clock;
  double* seconds_;
  Clock::time_point start_;
};

class Sheet {
 public:
  Record record;

  CheckResult* find(std::string_view check) {
    for (CheckResult& result : record.checks) {
      if (result.check == check) return &result;
    }
    return nullptr;
  }

  // The first failure of a check stays; anything else is replaced.
  void set(CheckResult result) {
    CheckResult* old = find(result.check);
    if (old == nullptr) {
      record.checks.push_back(std::move(result));
    } else if (old->outcome != Outcome::fail) {
      *old = std::move(result);
    }
  }
  void set(std::string_view check, Outcome outcome, std::string detail = "") {
    set(check_result(check, outcome, std::move(detail)));
  }

  // For a check that looks many times: passes unless it already has a result.
  void pass_if_unset(std::string_view check, std::string detail = "") {
    if (find(check) == nullptr) set(check, Outcome::pass, std::move(detail));
  }

  bool failed() const {
    for (const CheckResult& result : record.checks) {
      if (result.outcome == Outcome::fail) return true;
    }
    return false;
  }
};

}  // namespace assay
