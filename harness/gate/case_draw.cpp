#include "gate/case_draw.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <set>

#include "core/error.h"

namespace assay {
namespace {

constexpr int kTries = 1000;

bool left_alone(const FieldSpec& field) { return field.name == "seeds" || field.name == "support"; }

const std::string* value_of(const FixedFields& fixed, const std::string& field) {
  const auto found = std::find_if(fixed.begin(), fixed.end(), [&](const auto& one) { return one.first == field; });
  return found == fixed.end() ? nullptr : &found->second;
}

int bits_of(int64_t n) { return std::bit_width(static_cast<uint64_t>(n)); }

int64_t draw_edge(Draw& draw, int64_t most) {
  const int64_t times = draw.one_in(3) ? 3 + 2 * static_cast<int64_t>(draw.below(4)) : 1;
  const int64_t tile = times << draw.below(static_cast<uint64_t>(bits_of(most)) + 1);
  return tile - 1 + static_cast<int64_t>(draw.below(3));
}

int64_t draw_prime(Draw& draw, int64_t most) {
  int64_t n = draw.log_uniform(bits_of(most));
  while (!is_prime(n)) ++n;
  return n;
}

// Log-uniform in the six highest binades up to `most`.
int64_t draw_long(Draw& draw, int64_t most) {
  const int binade = std::max(bits_of(most) - 1 - static_cast<int>(draw.below(6)), 0);
  const int64_t least = int64_t{1} << binade;
  return std::min(most, least + static_cast<int64_t>(draw.below(static_cast<uint64_t>(least))));
}

std::string draw_integer(Draw& draw, int64_t least, bool aligned) {
  if (least < 0) {  // from least to -least - 1, both ends often
    const int64_t most = -least - 1;
    if (draw.one_in(4)) return print_number(draw.one_in(2) ? least : most);
    return print_number(least + static_cast<int64_t>(draw.below(static_cast<uint64_t>(most - least) + 1)));
  }
  if (aligned) return print_number(int64_t{16} << draw.below(4));
  return print_number(std::max(least, draw.one_in(2) ? int64_t{1} << draw.below(9) : draw.log_uniform(5)));
}

}  // namespace

// How the lengths of a case are drawn.
struct CaseDraw::Shape {
  enum Kind { independent, one_long, equal, aligned, huge } kind;
  int64_t work;  // that is left
};

bool is_length(const FieldSpec& field) {
  return field.kind == FieldKind::integer && field.least >= 0 && (!field.fallback || *field.fallback == "1") &&
         !left_alone(field) && field.name != "seed";
}

bool is_prime(int64_t n) {
  if (n < 2) return false;
  for (int64_t d = 2; d * d <= n; ++d) {
    if (n % d == 0) return false;
  }
  return true;
}

int64_t draw_length(Draw& draw, int64_t least, int64_t most) {
  most = std::max(most, std::max<int64_t>(least, 1));
  while (true) {
    const uint64_t way = draw.below(12);
    const int64_t n = way < 2   ? static_cast<int64_t>(way)
                      : way < 6 ? draw_edge(draw, most)
                      : way < 8 ? draw_prime(draw, most)
                                : draw.log_uniform(bits_of(most));
    if (least <= n && n <= most) return n;
  }
}

CaseDraw::CaseDraw(const Op& op, const std::vector<Case>& listed, const DrawLimits& limits)
    : op_(op), fields_(op.all_fields()), limits_(limits) {
  std::map<std::string, std::set<std::string>> values;
  for (const Case& c : listed) {
    if (is_sweep(op.tensors(c))) continue;  // every input there is, judged whole and not by chance
    for (const FieldValue& value : c.fields()) {
      if (value.kind != FieldKind::integer) values[value.name].insert(value.text);
    }
  }
  for (const auto& [field, texts] : values) listed_[field].assign(texts.begin(), texts.end());
}

bool is_attribute(const FieldSpec& field) { return !is_length(field) && !left_alone(field) && field.name != "seed"; }

std::string CaseDraw::attribute(Draw& draw, const FieldSpec& field) const { return draw_attribute(draw, field, false); }

std::string CaseDraw::draw_attribute(Draw& draw, const FieldSpec& field, bool aligned) const {
  if (field.name == "seed") return print_number(1 + static_cast<int64_t>(draw.below(uint64_t{1} << 31)));
  if (field.kind == FieldKind::integer) return draw_integer(draw, field.least, aligned);
  if (!field.choices.empty()) return draw.one_of(field.choices);
  const auto found = listed_.find(field.name);
  const std::vector<std::string> values =
      found == listed_.end() ? std::vector<std::string>{field.fallback.value_or("")} : found->second;
  const std::string& value = draw.one_of(values);
  if (field.kind == FieldKind::word || draw.one_in(2)) return value;
  // Near a listed one, by a factor with few bits: the product is as short a number.
  const double factor = std::ldexp(4 + static_cast<double>(draw.below(4)), static_cast<int>(draw.below(5)) - 4);
  return print_number(std::stod(value) * factor * (draw.one_in(4) ? -1 : 1));
}

void CaseDraw::draw_lengths(Draw& draw, Shape& shape, const FixedFields& fixed, Changes& given) const {
  std::vector<const FieldSpec*> order;
  for (const FieldSpec& field : fields_) {
    if (!is_length(field)) continue;
    if (const std::string* value = value_of(fixed, field.name)) {
      shape.work /= std::max<int64_t>(std::stoll(*value), 1);
    } else if (!field.fallback || draw.one_in(2)) {
      order.push_back(&field);
    }
  }
  for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[draw.below(i)]);
  for (size_t i = 0; i < order.size(); ++i) {
    const FieldSpec& field = *order[i];
    const int64_t left = std::max<int64_t>(shape.work, 1);
    int64_t length = 0;
    switch (shape.kind) {
      case Shape::independent:
        length = draw_length(draw, field.least, left);
        break;
      case Shape::one_long:
        length = i == 0 ? draw_long(draw, left) : draw_length(draw, field.least, std::min<int64_t>(left, 16));
        break;
      case Shape::equal: {
        const auto share = static_cast<int64_t>(std::pow(left, 1.0 / static_cast<double>(order.size() - i)));
        length = share - static_cast<int64_t>(draw.below(static_cast<uint64_t>(share / 2) + 1));
        break;
      }
      case Shape::aligned:
        length = 16 * draw_length(draw, 1, std::max<int64_t>(left / 16, 1));
        break;
      case Shape::huge:
        length = i == 0 ? left - static_cast<int64_t>(draw.below(static_cast<uint64_t>(left / 2) + 1))
                        : 1 + static_cast<int64_t>(draw.below(3));
        break;
    }
    length = std::max(length, field.least);
    shape.work = left / std::max<int64_t>(length, 1);
    given.emplace_back(field.name, print_number(length));
  }
}

CaseDraw::Changes CaseDraw::draw_fields(Draw& draw, const FixedFields& fixed) const {
  static constexpr Shape::Kind kKinds[16] = {
      Shape::independent, Shape::independent, Shape::independent, Shape::independent,
      Shape::independent, Shape::independent, Shape::independent, Shape::independent,
      Shape::one_long,    Shape::one_long,    Shape::one_long,    Shape::one_long,
      Shape::equal,       Shape::equal,       Shape::aligned,     Shape::aligned};
  Shape shape{draw.one_in(64) ? Shape::huge : kKinds[draw.below(16)], limits_.work};
  if (draw.one_in(16)) shape.work *= kLargerBy;
  if (shape.kind == Shape::huge) shape.work = limits_.bytes * kLargerBy / 16;  // an element of two tensors in f64
  const bool aligned = shape.kind == Shape::aligned;
  const uint64_t style = draw.below(4), eighths_kept = style == 0 ? 8 : style == 1 ? 4 : 7;
  Changes given = fixed;
  draw_lengths(draw, shape, fixed, given);
  for (const FieldSpec& field : fields_) {
    if (is_length(field) || left_alone(field) || value_of(fixed, field.name) != nullptr) continue;
    const bool may_stay = field.fallback && field.name != "seed";
    if (may_stay && draw.below(8) < eighths_kept) continue;
    if (aligned && field.name == "offset") continue;
    given.emplace_back(field.name, draw_attribute(draw, field, aligned));
  }
  return given;
}

// Whether the op has it and it costs no more than the largest draws may.
bool CaseDraw::allowed(const Case& c) const {
  double work = 1, bytes = 0;
  for (const FieldSpec& field : fields_) {
    if (is_length(field)) work *= std::max(c.real(field.name), 1.0);
  }
  if (work > static_cast<double>(limits_.work * kLargerBy)) return false;
  try {
    op_.require(c);
    const std::vector<TensorSpec> tensors = op_.tensors(c);
    if (is_sweep(tensors)) return false;
    for (const TensorSpec& tensor : tensors) {
      bytes += static_cast<double>(tensor.span_elements()) * static_cast<double>(size_of(tensor.dtype));
    }
  } catch (const UsageError&) {
    return false;
  }
  const bool is_large = work > static_cast<double>(limits_.work);
  return bytes <= static_cast<double>(limits_.bytes * (is_large ? kLargerBy : 1));
}

std::optional<Case> CaseDraw::fresh(Draw& draw, const FixedFields& fixed) const {
  for (int i = 0; i < kTries; ++i) {
    try {
      Case c = op_.make(draw_fields(draw, fixed));
      if (allowed(c)) return c;
    } catch (const UsageError&) {
      continue;  // a value that its field cannot have beside the others
    }
  }
  return std::nullopt;
}

std::optional<Case> CaseDraw::changed(Draw& draw, const Case& c, const FixedFields& fixed) const {
  for (int i = 0; i < kTries; ++i) {
    const FieldSpec& field = draw.one_of(fields_);
    if (left_alone(field) || value_of(fixed, field.name) != nullptr) continue;
    std::string value;
    if (!is_length(field)) {
      value = draw_attribute(draw, field, draw.one_in(4));
    } else if (draw.one_in(2)) {
      value = print_number(std::max(field.least, c.integer(field.name) + (draw.one_in(2) ? 1 : -1)));
    } else {
      value = print_number(draw_length(draw, field.least, limits_.work));
    }
    try {
      Case other = c.with({{field.name, value}});
      if (!(other == c) && allowed(other)) return other;
    } catch (const UsageError&) {
      continue;  // likewise
    }
  }
  return std::nullopt;
}

}  // namespace assay
