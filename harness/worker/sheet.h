// A record while it is being filled in: check results by name, times by phase.
#pragma once

#include <string>
#include <string_view>

#include "core/clock.h"
#include "record/record.h"
#include "record/verdict.h"

namespace assay {

// Adds the time since its making to an entry of record.seconds.
class Stopwatch {
 public:
  Stopwatch(Record& record, const char* phase) : seconds_(&record.seconds[phase]), start_(Clock::now()) {}
  ~Stopwatch() { *seconds_ += seconds_since(start_); }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

 private:
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

  // The first failure of a check stays, but for one of a case beside the record's, which gives way to the record's own;
  // of two such cases it is told as the record's own, so that what is known of one excuses no other. Anything else is
  // replaced.
  void set(CheckResult result) {
    CheckResult* old = find(result.check);
    if (old == nullptr) {
      record.checks.push_back(std::move(result));
    } else if (old->outcome != Outcome::fail) {
      *old = std::move(result);
    } else if (result.outcome == Outcome::fail && result.of_case != old->of_case) {
      if (result.of_case.empty()) *old = std::move(result);
      old->of_case.clear();
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
