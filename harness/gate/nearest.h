// Text matching that the command line leans on: globs, and the nearest known name for a word nobody knows.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace assay {

// Whether all of `text` matches `pattern`, in which '*' stands for any run of characters, the empty one included.
bool glob_matches(std::string_view pattern, std::string_view text);

inline bool is_glob(std::string_view pattern) { return pattern.find('*') != std::string_view::npos; }

// "did you mean 'gemm'?" followed by every known name, for the end of an error line. Empty when nothing is known.
std::string suggestion(std::string_view word, const std::vector<std::string>& known);

}  // namespace assay
