// How an op writes down its tiers: one line of fields a case, each with the least tier it belongs to, so that smoke is
// a subset of ci and ci of nightly. Duplicates are dropped.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/draw.h"
#include "core/op.h"

namespace assay {

class CaseList {
 public:
  CaseList(const Op& op, Tier wanted) : op_(&op), wanted_(wanted) {}

  // `fields` as in a case id, after the colon.
  void add(Tier least, const std::string& fields) {
    if (least > wanted_) return;
    Case c = op_->make(parse_id(std::string(op_->name()) + ":" + fields).fields);
    if (ids_.insert(c.id()).second) cases_.push_back(std::move(c));
  }
  std::vector<Case> take() { return std::move(cases_); }

 private:
  const Op* op_;
  Tier wanted_;
  std::vector<Case> cases_;
  std::unordered_set<std::string> ids_;
};

// The cases of a table.
inline std::vector<Case> cases_of(const Op& op, Tier wanted,
                                  std::initializer_list<std::pair<Tier, const char*>> table) {
  CaseList list(op, wanted);
  for (const auto& [least, fields] : table) list.add(least, fields);
  return list.take();
}

// Sizes around powers of two, where tiles and vectors end.
inline const std::vector<int64_t>& edge_sizes() {
  static const std::vector<int64_t> kSizes{1,  2,  3,  4,  5,  6,  7,  8,   9,   15, 16,
                                           17, 31, 32, 33, 63, 64, 65, 127, 128, 129};
  return kSizes;
}

}  // namespace assay
