// JSON text: strict parsing of what others wrote, and printing that any byte string survives.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace assay {

// Parses one document. Throws UsageError (position and reason, no file name) for anything that is not JSON, an object
// with a repeated key, numbers that overflow a double, or nesting deeper than 32.
nlohmann::json parse_json(std::string_view text);

// One line without its newline, or, with an indent of 0 or more spaces, one line a value. Bytes that are not UTF-8
// become U+FFFD.
std::string print_json(const nlohmann::json& value, int indent = -1);

// `text` with every byte that is not part of valid UTF-8 replaced by U+FFFD. Kernels supply strings; keys are cleaned
// with this before they are inserted, so that two of them cannot become one key while printing.
std::string valid_utf8(std::string_view text);

// An array of strings, each cleaned so.
nlohmann::json texts_to_json(const std::vector<std::string>& texts);

// JSON has no NaN or infinity: those are the strings "nan", "inf" and "-inf". A NaN's payload is not kept.
nlohmann::json number_to_json(double value);
// null for what is not finite, where that means that nobody knows it.
nlohmann::json number_or_null(double value);

}  // namespace assay
