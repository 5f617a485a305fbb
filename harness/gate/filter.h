// Filters: which kernels and cases a command is about.
//
//   filter = op [ "/" kernel ] [ ":" field "=" value { "," field "=" value } ]        '*' in op, kernel or value is a
//   glob
//
// A case matches when every field named does; fields left out do not matter. A filter that names one op, has no glob in
// a value and gives every field without a default is an id: it stands for exactly that case, its other fields at their
// defaults, whether or not a tier lists it. Several filters select the union.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/op.h"
#include "worker/judge_client.h"

namespace assay {

class Filter {
 public:
  // Throws UsageError, with the nearest name, for an op, kernel or field that does not exist, and for a value that its
  // field cannot have.
  Filter(const std::string& text, const OpRegistry& ops, const std::vector<KernelInfo>& kernels);

  bool matches(const KernelInfo& kernel, const Case& c) const;
  bool matches_kernel(const KernelInfo& kernel) const;

  const std::string& text() const { return text_; }
  const std::optional<Case>& exact() const { return exact_; }  // when the filter is an id
  // What it asks of fields, globs among them.
  const std::vector<std::pair<std::string, std::string>>& fields() const { return fields_; }

 private:
  std::string text_;
  std::string op_, kernel_;
  std::vector<std::pair<std::string, std::string>> fields_;
  std::optional<Case> exact_;
};

std::vector<Filter> filters_of(const std::vector<std::string>& texts, const OpRegistry& ops,
                               const std::vector<KernelInfo>& kernels);

}  // namespace assay
