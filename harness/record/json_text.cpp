#include "record/json_text.h"

#include <cmath>
#include <cstdint>
#include <set>
#include <vector>

#include "core/error.h"

namespace assay {
namespace {

constexpr int kDeepest = 32;

// Length of the valid UTF-8 sequence at the front of `text`, 0 for none (overlong forms, surrogates and values past
// U+10FFFF are not valid): RFC 3629, section 4.
size_t sequence_length(std::string_view text) {
  const auto byte = [&](size_t i) { return i < text.size() ? static_cast<uint8_t>(text[i]) : 0u; };
  const auto between = [&](size_t i, unsigned low, unsigned high) { return low <= byte(i) && byte(i) <= high; };
  const auto tail = [&](size_t i) { return between(i, 0x80, 0xBF); };
  if (byte(0) < 0x80) return 1;
  if (between(0, 0xC2, 0xDF)) return tail(1) ? 2 : 0;
  if (between(0, 0xE0, 0xEF)) {
    const bool second = between(1, byte(0) == 0xE0 ? 0xA0 : 0x80, byte(0) == 0xED ? 0x9F : 0xBF);
    return second && tail(2) ? 3 : 0;
  }
  if (between(0, 0xF0, 0xF4)) {
    const bool second = between(1, byte(0) == 0xF0 ? 0x90 : 0x80, byte(0) == 0xF4 ? 0x8F : 0xBF);
    return second && tail(2) && tail(3) ? 4 : 0;
  }
  return 0;
}

}  // namespace

nlohmann::json parse_json(std::string_view text) {
  using nlohmann::json;
  std::vector<std::set<std::string>> keys;
  const auto watch = [&keys](int depth, json::parse_event_t event, json& parsed) {
    if (depth > kDeepest) throw UsageError("not usable JSON: nested deeper than " + std::to_string(kDeepest));
    if (event == json::parse_event_t::object_start) keys.emplace_back();
    if (event == json::parse_event_t::object_end) keys.pop_back();
    if (event == json::parse_event_t::key && !keys.back().insert(parsed.get<std::string>()).second) {
      throw UsageError("not usable JSON: key '" + parsed.get<std::string>() + "' twice in one object");
    }
    return true;
  };
  try {
    return json::parse(text, watch);
  } catch (const json::exception& e) {
    throw UsageError(std::string("not JSON: ") + valid_utf8(e.what()));
  }
}

std::string print_json(const nlohmann::json& value, int indent) {
  return value.dump(indent, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string valid_utf8(std::string_view text) {
  std::string valid;
  valid.reserve(text.size());
  while (!text.empty()) {
    const size_t length = sequence_length(text);
    if (length == 0) {
      valid += "\xEF\xBF\xBD";
    } else {
      valid += text.substr(0, length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return valid;
}

nlohmann::json texts_to_json(const std::vector<std::string>& texts) {
  nlohmann::json array = nlohmann::json::array();
  for (const std::string& text : texts) array.push_back(valid_utf8(text));
  return array;
}

nlohmann::json number_to_json(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return value;
}

nlohmann::json number_or_null(double value) { return std::isfinite(value) ? nlohmann::json(value) : nlohmann::json(); }

}  // namespace assay
