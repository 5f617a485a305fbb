// Text that a person, a file or a kernel supplied, for a line of a terminal or a log.
#pragma once

#include <string>
#include <string_view>

namespace assay {

// With what a terminal would make more of than a part of one line escaped: "\n" as \n, other control characters as
// \x1b, the two bytes of those from U+0080 to U+009F, of which U+009B begins commands as an escape does, as \xc2\x9b.
inline std::string plain_text(std::string_view text) {
  constexpr char kDigits[] = "0123456789abcdef";
  const auto at = [&](size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const auto begins_control = [&](size_t i) { return at(i) == 0xc2 && at(i + 1) >= 0x80 && at(i + 1) < 0xa0; };
  std::string plain;
  plain.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    const unsigned byte = at(i);
    if (byte == '\n') {
      plain += "\\n";
    } else if (byte < 0x20 || byte == 0x7f || begins_control(i) || (i > 0 && begins_control(i - 1))) {
      plain += std::string("\\x") + kDigits[byte >> 4] + kDigits[byte & 15];
    } else {
      plain += text[i];
    }
  }
  return plain;
}

}  // namespace assay
