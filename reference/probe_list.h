// How an op writes down its probes: one line of fields a probe, beside those that name the variant.
#pragma once

#include <string>
#include <utility>

#include "core/op.h"

namespace assay {

class ProbeList {
 public:
  // `variant` as in a case id: the fields that name it. `output` is the tensor that is read.
  ProbeList(const Op& op, std::string variant, std::string output)
      : op_(&op), output_(std::move(output)), set_{std::move(variant), {}} {}

  // `fields` as in a case id, all but the variant's. The rest as in struct Probe.
  void add(Reveals reveals, const std::string& fields, int64_t terms, int64_t columns = 1, double factor = 1) {
    const std::string id = std::string(op_->name()) + ":" + fields + "," + set_.variant;
    set_.probes.push_back({.reveals = reveals,
                           .c = op_->make(parse_id(id).fields),
                           .output = output_,
                           .terms = terms,
                           .columns = columns,
                           .factor = factor});
  }
  ProbeSet take() { return std::move(set_); }

 private:
  const Op* op_;
  std::string output_;
  ProbeSet set_;
};

// Inputs of a fill that is a probe: the word is its generator's name.
inline bool is_probe(const Case& c) { return c.word("fill").starts_with("probe_"); }

// Sums that a spine shows where terms meet: of types that count to so many exactly, more of them.
inline int64_t spine_rows(DType t) { return t == DType::f64 || t == DType::f32 ? 512 : 128; }

}  // namespace assay
