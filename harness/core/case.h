// A case: one point of an op's domain. Its id is text that parses back to itself and serves as the filter key, the
// record key and the repro token:
//
//   id        = op ":" field "=" value { "," field "=" value }        gemm:m=128,n=64,k=33,dtype=f32,seed=1
//   kernel id = op "/" kernel ":" ...                                  gemm/simd:m=128,n=64,k=33,dtype=f32,seed=1
//
// An id lists the fields in the op's order; a field that equals its declared default is left out.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace assay {

enum class FieldKind { integer, real, word };

// Lengths, distances and offsets of one field, in elements: more than any machine addresses, and few enough that what
// is computed from several wraps around only where one of them alone is too large (device/layout.cpp).
inline constexpr int64_t kMostOfAField = int64_t{1} << 40;

// Declares one field of an op. A field without a default must be given.
struct FieldSpec {
  std::string name;
  FieldKind kind = FieldKind::integer;
  std::string doc;                        // one line: meaning and unit
  std::optional<std::string> fallback{};  // default, as printed
  std::vector<std::string> choices{};     // words only: what is allowed
  int64_t least = 0;                      // integers only: smallest allowed
  int64_t most = kMostOfAField;           // and largest
  // Words only: the printed form of what was given. Throws UsageError with what is wrong.
  std::string (*canonical)(std::string_view given) = nullptr;
};

struct FieldValue {
  std::string name;
  FieldKind kind = FieldKind::integer;
  std::string text;     // canonical printed form
  int64_t integer = 0;  // integers; reals truncated; 0 for words
  double real = 0;      // both kinds of number; NaN for words
};

// Fields every op has after its own: dtype is the op's to declare.
//   fill   which inputs (names: fill/fill.h)       seed   of the fill
//   seeds  consecutive seeds judged as one case, kMostSeedsOfACase at most; 8 or more enable the statistical tier
//   offset elements by which every tensor's first element lies past its aligned base (misalignment)
//   place  end: buffers end at an unmapped page; start: they begin at one
//   support  which input elements keep their value, all others being zero (core/support.h)
std::vector<FieldSpec> common_fields();

// A case has one record, made when its last seed is judged. Sixteen times as many as the largest sweep of the tiers.
inline constexpr int64_t kMostSeedsOfACase = 65536;

class Case {
 public:
  Case() = default;
  // Builds from (name, text) pairs; missing fields take their defaults. Throws UsageError that names op, field and
  // remedy for unknown, repeated, missing or ill-formed fields.
  Case(std::string op, const std::vector<FieldSpec>& fields,
       const std::vector<std::pair<std::string, std::string>>& given);

  const std::string& op() const { return op_; }
  const std::vector<FieldValue>& fields() const { return values_; }
  int64_t integer(std::string_view name) const { return at(name).integer; }
  double real(std::string_view name) const { return at(name).real; }
  const std::string& word(std::string_view name) const { return at(name).text; }
  bool has(std::string_view name) const;
  const FieldValue& at(std::string_view name) const;  // throws Error for a field the op does not have

  const std::string& id() const { return id_; }
  std::string kernel_id(std::string_view kernel) const;

  // The same case with some fields replaced.
  Case with(const std::vector<std::pair<std::string, std::string>>& changes) const;

  bool operator==(const Case& other) const { return id_ == other.id_; }

 private:
  std::string op_;
  std::vector<FieldSpec> specs_;
  std::vector<FieldValue> values_;
  std::string id_;
};

// "gemm/simd:m=1" -> {"gemm", "simd", {{"m","1"}}}; the kernel is empty for a plain case id. Throws UsageError.
struct ParsedId {
  std::string op;
  std::string kernel;
  std::vector<std::pair<std::string, std::string>> fields;
};
ParsedId parse_id(std::string_view id);

// Canonical text of a number: decimal for integers, shortest form that reads back for reals.
std::string print_number(int64_t value);
std::string print_number(double value);

}  // namespace assay
