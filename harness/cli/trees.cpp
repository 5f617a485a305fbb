#include "cli/trees.h"

#include "cli/paths.h"

namespace assay {

Trees find_trees(const Options& options) {
  Trees trees{source_root(options), std::nullopt, {}};
  if (!options.base.empty()) trees.base.emplace(BaseTree::folder(std::filesystem::absolute(options.base)));
  if (!options.base_ref.empty()) trees.base.emplace(BaseTree::ref(trees.root, options.base_ref));
  trees.judging = trees.base && !options.approve_findings ? trees.base->path() : trees.root;
  return trees;
}

}  // namespace assay
