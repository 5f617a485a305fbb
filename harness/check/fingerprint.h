// Reads what a kernel answered to an op's probes (core/probe.h): pure functions from output bytes to facts. What a
// dtype or an op does not reveal is a fact without a value, which says why.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/probe.h"
#include "record/fingerprint.h"

namespace assay {

// A probe's output tensor, dense, or why there is none.
struct ProbeAnswer {
  DType dtype = DType::f32;
  std::vector<std::byte> bytes;
  std::string missing{};
};

// Every fact there may be, in the order they are told.
struct FactRow {
  std::string_view name, meaning;
};
std::span<const FactRow> fact_table();

// `answers` in the order of the set's probes. Only facts that the set is about.
std::vector<Fact> facts_of(const ProbeSet& set, std::span<const ProbeAnswer> answers);

// "shape: sequential -> pairwise", one a fact that differs; a fact that only one side has differs too.
std::vector<std::string> changed_facts(const std::vector<Fact>& before, const std::vector<Fact>& now);

// A unit that adds several products at once, as in reference/math/tensor_unit.h: "16/25/23".
std::string unit_text(int terms, int fraction, int precision);

}  // namespace assay
