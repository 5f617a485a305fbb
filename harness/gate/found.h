// What a fuzz run found, made into cases to store (golden/stored_cases.h): of every way in which a kernel fails one,
// made small.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "gate/plan.h"
#include "record/record.h"

namespace assay {

struct FoundJob {
  const OpRegistry* ops = nullptr;
  const Plan* plan = nullptr;  // that the records are of
  uint64_t seed = 0;           // of the fuzz run
  std::function<Record(const PlannedCase&)> judge;
  std::function<bool()> stop_asked = [] { return false; };
  // Shrinking takes at most so long each, and so many; the others are stored as they were drawn, and so is what never
  // ends in time.
  double seconds_each = 10;
  int most_shrunk = 10;
};

// Why, by case. One way to fail is a kernel, the decision it took, a dtype, a verdict and a check; known issues and
// errors of the harness are none. The input elements stay all of them: other kernels are judged by the case, too.
std::map<std::string, std::string> found_cases(const FoundJob& job, const std::vector<Record>& records);

}  // namespace assay
