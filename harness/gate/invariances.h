// The invariance matrix: what of each kernel's bytes was promised and held, was seen without a promise, varies, or is
// broken, over the cases of a run.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "record/record.h"

namespace assay {

// Of one kernel and one property.
struct Invariant {
  int64_t promised = 0;  // cases in which it held and was promised, or is the op's law
  int64_t observed = 0;  // in which it held without a promise
  int64_t varied = 0;    // in which it did not, and nobody promised it
  int64_t broken = 0;    // in which it did not although it was promised

  // "broken", "varies", "promised", "partly" where only some of the cases were promised it (a dispatcher promises what
  // its choice does), "observed", or "unknown" where no case could tell.
  std::string_view word() const;
  bool operator==(const Invariant&) const = default;
};

// By "gemm/simd", then in the order of kInvariances. Kernels that no case of the run asked are not in it.
using InvarianceMatrix = std::map<std::string, std::vector<Invariant>>;
InvarianceMatrix invariances_of(const std::vector<Record>& records);

nlohmann::json to_json(const InvarianceMatrix& matrix);        // for the report
std::string invariance_table(const InvarianceMatrix& matrix);  // Markdown, a row a kernel

}  // namespace assay
