#include "cli/trees.h"

#include <algorithm>

#include "cli/interrupt.h"
#include "cli/paths.h"
#include "gate/findings.h"
#include "gate/tree_files.h"
#include "load/elf.h"

namespace assay {

Trees find_trees(const Options& options) {
  Trees trees{source_root(options), std::nullopt, {}};
  if (!options.base.empty()) {
    note_interrupts();  // one that ends the program would leave a temporary tree behind
    trees.base.emplace(BaseTree::named(trees.root, options.base));
  }
  trees.judging = trees.base && !options.approve_findings ? trees.base->path() : trees.root;
  return trees;
}

std::map<std::string, std::string> Trees::judged_by() const {
  std::map<std::string, std::string> judges{{"policy", hash_of_files(policy())}, {"golden", hash_of_files(golden())}};
  for (const char* name : {"assay", "assay-judge", "assay-worker"}) judges[name] = build_of(program(name));
  return judges;
}

std::set<std::string> Trees::ops_with_truth(const Plan& plan) const {
  std::set<std::string> ops;
  for (const PlannedCase& planned : plan.cases) ops.insert(plan.kernel_of(planned).op);
  if (judging == root) return ops;
  const std::vector<std::string> known = registered_ops(judging);
  std::erase_if(ops, [&](const std::string& op) { return std::find(known.begin(), known.end(), op) == known.end(); });
  return ops;
}

}  // namespace assay
