#include "gate/growth.h"

#include <map>

namespace assay {

std::vector<Finding> grown(const std::vector<Record>& records, const Approvals& approvals) {
  struct Steepest {
    Growth growth;
    std::string case_id;
    int64_t cases = 0;
  };
  std::map<std::pair<std::string, std::string>, Steepest> all;  // by kernel and quantity
  for (const Record& record : records) {
    const Observed* before = approvals(record).comparable();
    if (before == nullptr || record.output_hash.empty()) continue;
    for (const Growth& one : growth(before->resources, resources_of(record))) {
      Steepest& most = all[{record.op + "/" + record.kernel, one.what}];
      ++most.cases;
      if (most.cases > 1 && one.now - one.before <= most.growth.now - most.growth.before) continue;
      most.growth = one;
      most.case_id = record.kernel_id;
    }
  }
  std::vector<Finding> findings;
  for (const auto& [key, most] : all) {
    findings.push_back({"growth", key.first + ": " + key.second + " grew, " + std::to_string(most.growth.before) +
                                      " -> " + std::to_string(most.growth.now) + " in " + most.case_id + ", and in " +
                                      std::to_string(most.cases) + " cases in all"});
  }
  return findings;
}

}  // namespace assay
