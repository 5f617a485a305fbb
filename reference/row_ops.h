// What the ops on rows of floating-point numbers (softmax, normalisation, activations) share beside their formulas:
// the dtype field, the table from a fill's word to inputs, and the sweep of shapes.
#pragma once

#include <string>
#include <vector>

#include "core/error.h"
#include "reference/case_list.h"

namespace assay {

inline FieldSpec float_dtype_field() {
  return {.name = "dtype",
          .kind = FieldKind::word,
          .doc = "type of inputs and outputs",
          .choices = {"f64", "f32", "f16", "bf16"}};
}
inline DType dtype_of(const Case& c) { return dtype_named(c.word("dtype")).value(); }

// The entry whose `name` is the case's fill. Throws UsageError that lists the names.
template <class Table>
const auto& fill_named(const Table& table, const Case& c) {
  std::string known;
  for (const auto& entry : table) {
    if (entry.name == c.word("fill")) return entry;
    known += (known.empty() ? "" : ", ") + std::string(entry.name);
  }
  throw UsageError("case of " + c.op() + ": field 'fill' = '" + c.word("fill") + "' is not one of " + known);
}

// Adds the shapes [rows, cols] that every such op is swept over; `variants` are field strings such as "fill=masked"
// that take turns. ci: every variant in every dtype, and lengths around every SIMD width and tile. nightly: also
// independent log-uniform draws with every padding, offset and placement, in which a variant meets many shapes.
void add_row_sweep(CaseList& list, const std::vector<std::string>& variants);

// For elementwise ops whose fill "every" puts each bit pattern in once: all of the 16-bit types (ci), and all of f32 in
// parts that stay in caches (nightly).
void add_every_input(CaseList& list, const std::vector<std::string>& variants);

// Adds each start with each ending.
void add_product(CaseList& list, Tier least, const std::vector<std::string>& starts,
                 const std::vector<std::string>& endings);

}  // namespace assay
