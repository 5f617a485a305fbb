// What a kernel promises, as the harness holds it: the C contract of <assay/abi.h> with strings it owns.
#pragma once

#include <assay/abi.h>

#include <cstdint>
#include <string>
#include <vector>

#include "core/case.h"

namespace assay {

struct Contract {
  uint32_t interface_version = 0;
  std::string owner;
  std::string domain;     // grammar in <assay/domain.h>
  uint32_t promises = 0;  // ASSAY_SAME_*
  assay_arithmetic arithmetic{};
  int32_t nan_policy = ASSAY_NAN_PROPAGATES;
  uint64_t workspace_limit = 0;  // bytes
  uint32_t alignment = 0;        // bytes; 0: the element's own size
  bool may_fall_back = false;
  bool may_allocate = false;

  bool promised(uint32_t property) const { return (promises & property) == property; }
  // Depth of the summation tree over n terms; a negative depth_divisor never gets here. n when unknown.
  double depth(double n) const;
  bool depth_known() const { return arithmetic.depth_divisor > 0; }
};

Contract contract_from(const assay_contract& c);  // null strings become empty

// Why the contract's domain does not claim `c`, or empty. Throws UsageError for a domain that does not parse.
std::string unclaimed(const Contract& contract, const Case& c);

// What is misspelt in the contract's domain: a word that its field (one of `fields`) cannot hold. Empty: nothing.
std::string domain_mistake(const Contract& contract, const std::vector<FieldSpec>& fields);

// The words for promise bits, in bit order: "same-run", "same-restart", ...
std::vector<std::string> promise_names(uint32_t promises);

const char* accumulator_name(int32_t accumulator);  // of ASSAY_ACC_*: "f32"; "unknown"
std::string depth_text(const assay_arithmetic& a);  // "n/32 + 1", "unknown"

}  // namespace assay
