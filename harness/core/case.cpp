#include "core/case.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "core/error.h"
#include "core/support.h"

namespace assay {
namespace {

std::string joined(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : ", ") + word;
  return out;
}

std::string names_of(const std::vector<FieldSpec>& specs) {
  std::vector<std::string> names;
  for (const FieldSpec& spec : specs) names.push_back(spec.name);
  return joined(names);
}

template <class Number>
Number parse_number(const std::string& op, const FieldSpec& spec, const std::string& text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc::result_out_of_range && end == text.data() + text.size()) {
    throw UsageError("case of " + op + ": field '" + spec.name + "' = '" + text + "' is too " +
                     (spec.kind == FieldKind::real ? "large or too small"
                      : text[0] == '-'             ? "small"
                                                   : "large"));
  }
  if (error != std::errc() || end != text.data() + text.size()) {
    throw UsageError("case of " + op + ": field '" + spec.name + "' = '" + text + "' is not " +
                     (spec.kind == FieldKind::integer ? "an integer" : "a number"));
  }
  return value;
}

FieldValue parse_value(const std::string& op, const FieldSpec& spec, const std::string& text) {
  FieldValue value{spec.name, spec.kind, text, 0, std::numeric_limits<double>::quiet_NaN()};
  switch (spec.kind) {
    case FieldKind::integer:
      value.integer = parse_number<int64_t>(op, spec, text);
      value.real = static_cast<double>(value.integer);
      value.text = print_number(value.integer);
      if (value.integer < spec.least) {
        throw UsageError("case of " + op + ": field '" + spec.name + "' = " + text + " is below " +
                         std::to_string(spec.least));
      }
      if (value.integer > spec.most) {
        throw UsageError("case of " + op + ": field '" + spec.name + "' = " + text + " is above " +
                         std::to_string(spec.most));
      }
      break;
    case FieldKind::real:
      value.real = parse_number<double>(op, spec, text);
      value.integer = std::isfinite(value.real) && std::fabs(value.real) < 9e18 ? static_cast<int64_t>(value.real) : 0;
      value.text = print_number(value.real);
      break;
    case FieldKind::word:
      if (!spec.choices.empty() && std::find(spec.choices.begin(), spec.choices.end(), text) == spec.choices.end()) {
        throw UsageError("case of " + op + ": field '" + spec.name + "' = '" + text + "' is not one of " +
                         joined(spec.choices));
      }
      if (spec.canonical == nullptr) break;
      try {
        value.text = spec.canonical(text);
      } catch (const UsageError& e) {
        throw UsageError("case of " + op + ": field '" + spec.name + "' = '" + text + "': " + e.what());
      }
      break;
  }
  return value;
}

}  // namespace

std::vector<FieldSpec> common_fields() {
  return {{.name = "fill", .kind = FieldKind::word, .doc = "which inputs", .fallback = "normal"},
          {.name = "seed", .doc = "of the fill", .fallback = "1", .most = int64_t{1} << 62},
          {.name = "seeds",
           .doc = "consecutive seeds judged as one case, " + print_number(kMostSeedsOfACase) + " at most",
           .fallback = "1",
           .least = 1,
           .most = kMostSeedsOfACase},
          {.name = "offset", .doc = "elements past the aligned base", .fallback = "0"},
          {.name = "place",
           .kind = FieldKind::word,
           .doc = "which end of a buffer meets an unmapped page",
           .fallback = "end",
           .choices = {"end", "start"}},
          {.name = "support",
           .kind = FieldKind::word,
           .doc = "input elements that keep their value, all others being zero",
           .fallback = "all",
           .canonical = [](std::string_view given) { return Support::parse(given).text(); }}};
}

std::string print_number(int64_t value) { return std::to_string(value); }

std::string print_number(double value) {
  char buffer[64];
  const auto result = std::to_chars(buffer, buffer + sizeof buffer, value);
  return {buffer, result.ptr};
}

Case::Case(std::string op, const std::vector<FieldSpec>& fields,
           const std::vector<std::pair<std::string, std::string>>& given)
    : op_(std::move(op)), specs_(fields), id_(op_ + ":") {
  for (size_t i = 0; i < given.size(); ++i) {
    const auto named = [&](const auto& field) { return field.name == given[i].first; };
    if (std::none_of(fields.begin(), fields.end(), named)) {
      throw UsageError("case of " + op_ + ": no field '" + given[i].first + "'; it has " + names_of(fields));
    }
    for (size_t j = 0; j < i; ++j) {
      if (given[j].first == given[i].first) {
        throw UsageError("case of " + op_ + ": field '" + given[i].first + "' is given twice");
      }
    }
  }
  bool first = true;
  for (const FieldSpec& spec : fields) {
    const auto found =
        std::find_if(given.begin(), given.end(), [&](const auto& pair) { return pair.first == spec.name; });
    if (found == given.end() && !spec.fallback) {
      throw UsageError("case of " + op_ + ": field '" + spec.name + "' is missing (" + spec.doc + ")");
    }
    values_.push_back(parse_value(op_, spec, found == given.end() ? *spec.fallback : found->second));
    if (spec.fallback && values_.back().text == parse_value(op_, spec, *spec.fallback).text) continue;
    id_ += (first ? "" : ",") + spec.name + "=" + values_.back().text;
    first = false;
  }
}

bool Case::has(std::string_view name) const {
  return std::any_of(values_.begin(), values_.end(), [&](const FieldValue& v) { return v.name == name; });
}

const FieldValue& Case::at(std::string_view name) const {
  for (const FieldValue& value : values_) {
    if (value.name == name) return value;
  }
  throw Error("op " + op_ + " has no field '" + std::string(name) + "'");
}

std::string Case::kernel_id(std::string_view kernel) const {
  return op_ + "/" + std::string(kernel) + id_.substr(op_.size());
}

Case Case::with(const std::vector<std::pair<std::string, std::string>>& changes) const {
  std::vector<std::pair<std::string, std::string>> given;
  for (const FieldValue& value : values_) given.emplace_back(value.name, value.text);
  for (const auto& [name, text] : changes) {
    const auto found =
        std::find_if(given.begin(), given.end(), [&name = name](const auto& pair) { return pair.first == name; });
    if (found == given.end()) {
      given.emplace_back(name, text);  // the constructor names it
    } else {
      found->second = text;
    }
  }
  return Case(op_, specs_, given);
}

ParsedId parse_id(std::string_view id) {
  ParsedId parsed;
  const size_t colon = id.find(':');
  const std::string_view head = id.substr(0, colon);
  const size_t slash = head.find('/');
  parsed.op = head.substr(0, slash);
  if (slash != std::string_view::npos) parsed.kernel = head.substr(slash + 1);
  if (parsed.op.empty() || (slash != std::string_view::npos && parsed.kernel.empty())) {
    throw UsageError("'" + std::string(id) + "' is not a case id; one looks like gemm/simd:m=8,n=8,k=8,dtype=f32");
  }
  if (colon == std::string_view::npos) return parsed;
  std::string_view rest = id.substr(colon + 1);
  while (!rest.empty()) {
    const size_t comma = rest.find(',');
    const std::string_view part = rest.substr(0, comma);
    const size_t equals = part.find('=');
    if (equals == std::string_view::npos || equals == 0) {
      throw UsageError("'" + std::string(id) + "': '" + std::string(part) + "' is not field=value");
    }
    parsed.fields.emplace_back(part.substr(0, equals), part.substr(equals + 1));
    rest = comma == std::string_view::npos ? std::string_view{} : rest.substr(comma + 1);
    if (comma != std::string_view::npos && rest.empty()) {
      throw UsageError("'" + std::string(id) + "' ends with a comma");
    }
  }
  return parsed;
}

}  // namespace assay
