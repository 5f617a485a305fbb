// What a selftest found, and how it is told: as Markdown to people, as selftest.json to the report.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/op.h"
#include "gate/kill_table.h"

namespace assay {

// What a selftest has to show: of the faults that it judges, all of them counted.
inline constexpr double kKilled = 0.99, kPrecisionKilled = 0.95, kKilledInSmoke = 0.90;

struct SelftestResult {
  std::string device;  // of the faults
  Tier tier = Tier::ci;
  std::string finished;                            // RFC 3339, UTC
  std::map<std::string, std::string> environment;  // of the machine, as in run.json
  std::map<std::string, std::string> libraries{};  // that modules without a fault loaded: builds_of() of gate/pin.h
  bool whole = false;                              // of all faults there are
  bool smoke_first = false;                        // what the smoke tier or its witness kills met no other case
  std::vector<FaultTrial> trials;
  std::map<std::string, std::string> not_judged;  // faults whose judgement failed, and how
  std::map<std::string, std::string> beyond;      // whose witness this machine cannot judge, and that no case killed
  std::vector<std::string> bad_controls;          // innocent modules, made as the spoilt ones are, that failed
  TierCases cases;
  CaseSeconds seconds;   // without a fault
  int64_t innocent = 0;  // kernel-cases
  std::vector<std::string> alarms;
};

// Of a kernel without a fault: an alarm, where a gate would not have let it pass; and whether it could have been one,
// which what is refused, or excused as a known issue, could not.
bool is_alarm(Verdict verdict);
bool may_alarm(Verdict verdict);

// What is wrong with the checks, a line each; empty: nothing. Of a sample the rates say little: there it is enough that
// no fault survives but those that are known to.
std::vector<std::string> shortfalls(const SelftestResult& result);

// 4 when a fault could not be judged, 1 where something is short, else 0.
int exit_code_of(const SelftestResult& result);

std::string markdown(const SelftestResult& result);
nlohmann::json to_json(const SelftestResult& result);  // gate/selftest.schema.json

}  // namespace assay
