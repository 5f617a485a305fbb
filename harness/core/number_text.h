// Numbers as others write them.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>
#include <system_error>

namespace assay {

// The number that `text` is from its first character to its last, in decimal; nothing where it is none or out of range.
template <class Number>
std::optional<Number> number_of(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// `text` into `value` if it is an integer of 0 or more.
inline bool parse_count(std::string_view text, int64_t& value) {
  const std::optional<int64_t> count = number_of<int64_t>(text);
  if (!count || *count < 0) return false;
  value = *count;
  return true;
}

// Digits of a hash as we write them: at least one, and small letters.
inline bool is_hexadecimal(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

}  // namespace assay
