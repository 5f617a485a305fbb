// Cases drawn from an op's domain, beyond those it lists: shapes, layouts, attributes and fills by the distributions
// below, the same for a seed on every machine. What the domain is, the op has said already: its fields and, where a
// field has no choices to name (fills, factors), the values that its listed cases give it. A new op is drawn from as it
// is.
//
// A field is, by its kind and default,
//   a length      an integer of 0 or more without a default, or with default 1 (batch, inner): draw_length(), in one of
//                 the shapes of draw_case()
//   an attribute  every other: words by their choices, reals near listed values, integers small or aligned (pads,
//                 offset), or from end to end where negative ones are allowed (zero points,
//                 increments)
//   left alone    seeds and support, which say how a case is judged
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/draw.h"
#include "core/op.h"

namespace assay {

// What a case may cost. Work is the product of its lengths, which is what most ops' loops run over: m n k of a product,
// rows x cols of a row op; a solve with m x m of its triangle does m times as much. With these half of the cases take
// 50 ms or less on two cores of a Zen 3, one in 20 more than 0.6 s, and the longest of 1476 took 9 s, a solve
// (`assay check --fuzz 300s`, seconds of its records).
struct DrawLimits {
  int64_t work = int64_t{1} << 18;
  int64_t bytes = int64_t{1} << 20;  // of all tensors with their padding
};
inline constexpr int64_t kLargerBy = 16;  // one draw in 16 may cost so many times that; a huge one has so many bytes

// A length from `least` to `most`. Of twelve one is 0, one is 1, four lie at a tile's edge (a power of two, or 3, 5, 7
// or 9 times one, and their neighbours on both sides), two are primes, and four log-uniform: each binade as likely as
// the others, with no rounding. What is out of range is drawn again.
int64_t draw_length(Draw& draw, int64_t least, int64_t most);

bool is_length(const FieldSpec& field);
bool is_attribute(const FieldSpec& field);
bool is_prime(int64_t n);

// Fields that a draw has to leave at a value.
using FixedFields = std::vector<std::pair<std::string, std::string>>;

class CaseDraw {
 public:
  // `listed`: the op's cases of every tier.
  CaseDraw(const Op& op, const std::vector<Case>& listed, const DrawLimits& limits = {});

  // Of 64 cases one is huge: a length of so many bytes, the others 1 to 3. Of the rest, in sixteenths: 8 have
  // independent lengths, 4 one long length beside short ones (skinny, deep), 2 all lengths about equal and as large as
  // the work allows, 2 multiples of 16 in everything (the fast paths). An attribute stays at its default with
  // probability 1, 7/8 or 1/2, drawn once a case, so that plain calls, which libraries have fast paths for, and calls
  // with everything changed both come. Nothing where 1000 draws gave no case that the op has and the limits allow.
  std::optional<Case> fresh(Draw& draw, const FixedFields& fixed = {}) const;

  // `c` with one field changed: a length by one, or drawn again; an attribute drawn again.
  std::optional<Case> changed(Draw& draw, const Case& c, const FixedFields& fixed = {}) const;

  // A value of an attribute, as the above draw it where it does not stay at its default.
  std::string attribute(Draw& draw, const FieldSpec& field) const;

 private:
  struct Shape;
  using Changes = std::vector<std::pair<std::string, std::string>>;
  Changes draw_fields(Draw& draw, const FixedFields& fixed) const;
  void draw_lengths(Draw& draw, Shape& shape, const FixedFields& fixed, Changes& given) const;
  std::string draw_attribute(Draw& draw, const FieldSpec& field, bool aligned) const;
  bool allowed(const Case& c) const;

  const Op& op_;
  std::vector<FieldSpec> fields_;
  std::map<std::string, std::vector<std::string>> listed_;  // values by field, of words and reals
  DrawLimits limits_;
};

}  // namespace assay
