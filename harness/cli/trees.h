// The tree under test, the base it is compared with, and which of the two judges.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "cli/options.h"
#include "gate/base_tree.h"
#include "gate/plan.h"

namespace assay {

struct Trees {
  std::filesystem::path root;
  std::optional<BaseTree> base;
  std::filesystem::path
      judging;  // whose policy, goldens and pins apply: the base's, unless the owner approved the findings

  std::filesystem::path policy() const { return judging / "ci" / "policy"; }
  std::filesystem::path golden() const { return judging / "golden"; }
  std::filesystem::path pins() const { return judging / "ci" / "pins"; }

  // "policy" and "golden" -> a hash of their files; the programs -> which build each is. Records judged by others are
  // of another run. Throws UsageError where a program is not there.
  std::map<std::string, std::string> judged_by() const;

  // The planned ops that the judging tree owes a truth golden: all but those that only the change has.
  std::set<std::string> ops_with_truth(const Plan& plan) const;
};

// Interrupts are noted from here on where there is a base. Throws UsageError.
Trees find_trees(const Options& options);

}  // namespace assay
