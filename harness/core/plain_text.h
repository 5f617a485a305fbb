// Text that a person, a file or a kernel supplied, for a line of a terminal or a log.
#pragma once

#include <string>
#include <string_view>

namespace assay {

// With what a terminal would make more of than a part of one line escaped: "\n" as \n, other control characters as
// \x1b.
inline std::string plain_text(std::string_view text) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string plain;
  plain.reserve(text.size());
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\n') {
      plain += "\\n";
    } else if (byte < 0x20 || byte == 0x7f) {
      plain += std::string("\\x") + kDigits[byte >> 4] + kDigits[byte & 15];
    } else {
      plain += c;
    }
  }
  return plain;
}

}  // namespace assay
