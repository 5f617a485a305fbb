// Truths of an op, computed anew, beside those in golden/truth.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "gate/plan.h"
#include "golden/update.h"

namespace assay {

inline const std::filesystem::path kSource = ASSAY_SOURCE_DIR;
inline const std::filesystem::path kTruths = kSource / "golden" / "truth";
inline constexpr const char* kRemedy =
    "an oracle or its cases changed: if that is meant, run 'assay golden update' and review the diff";

// Every float there is.
inline bool takes_minutes(const Case& c) { return c.word("fill") == "every" && c.integer("seeds") >= 4096; }

// As `assay golden diff` prints it. Of cases that are not chosen what is in golden/truth stands for what would be
// computed.
inline std::string truths_that_differ(const std::string& op, const std::function<bool(const Case&)>& is_chosen) {
  const OpRegistry ops = make_op_registry();
  const std::vector<Case> stored = without_why(read_stored_cases(kSource / "golden" / "cases", ops));
  const TruthGoldens goldens = TruthGoldens::load(kTruths, ops);
  std::vector<Case> chosen, others;
  for (const Case& c : every_case(ops, read_bench(kSource / "ci" / "policy", ops), stored)) {
    if (c.op() == op) (is_chosen(c) ? chosen : others).push_back(c);
  }
  EXPECT_FALSE(chosen.empty());
  std::map<std::string, TruthFile> computed = compute_truths(ops, chosen, 2, {});
  for (const Case& c : others) {
    if (const Truth* truth = goldens.find(c.id()).truth) computed.at(op).cases.emplace(truth_key(c.id()), *truth);
  }
  std::vector<GoldenChange> changes = plan_truth_update(kTruths, computed, Extent::complete);
  std::erase_if(changes, [&](const GoldenChange& change) { return change.path.stem() != op; });
  return diff_text(changes);
}

}  // namespace assay
