// The goldens one run is held against: truth everywhere, observed where this platform has been approved.
#pragma once

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "golden/observed.h"
#include "golden/truth_goldens.h"
#include "worker/judge_client.h"

namespace assay {

// The libraries whose code the outputs of a module's kernels may depend on: those its own processes mapped. Left out
// are the module itself, which is under test, and what serves the harness or the language and computes nothing. A
// library nobody knows counts.
std::vector<LoadedLibrary> computing_libraries(const std::vector<LoadedLibrary>& loaded, const std::string& module);

// Of a late library of a record, by identity(): the same.
bool computes_nothing(std::string_view file_name);

class Goldens {
 public:
  // `folder` is golden/ of the tree that judges. Throws UsageError for a malformed file; an absent observed one is no
  // baseline.
  Goldens(const std::filesystem::path& folder, const OpRegistry& ops, const KernelPlatforms& platforms);
  // Throws UsageError naming the file and remedy for an op without a truth golden: its oracle would go unguarded.
  void require_truth(const std::set<std::string>& ops) const;
  void apply(const KernelInfo& kernel, Record& record) const;
  Approval approval_of(const Record& record) const { return observed_.find(record); }
  const std::map<std::string, std::string>& approved_with() const { return observed_.approved_with(); }

 private:
  std::filesystem::path folder_;
  TruthGoldens truth_;
  ObservedGoldens observed_;
};

// What a tree's goldens speak of: cases ("gemm:m=1,...", without placement) and kernels ("gemm/simd").
std::vector<std::string> golden_cases(const std::filesystem::path& folder);
std::vector<std::string> golden_kernels(const std::filesystem::path& folder);

}  // namespace assay
