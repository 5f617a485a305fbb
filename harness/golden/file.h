// The text files that goldens live in: a heading, facts, and one line a case, sorted, so that a change is a small diff
// that a person can review and two changes merge line by line.
//
//   # assay truth golden, format 1            the kind and the format's version
//   # oracle 2                                facts: a word, then text; in the order they were written
//   gemm:m=1,... 0123456789abcdef ...         key, one space, value; strictly ascending by key
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace assay {

inline constexpr int kGoldenFormat = 1;

struct GoldenFile {
  std::string kind;                                        // "truth", "observed", "fingerprint", "contract" or "cases"
  std::vector<std::pair<std::string, std::string>> facts;  // may repeat ("library")
  std::map<std::string, std::string, std::less<>> lines;   // key -> value

  bool operator==(const GoldenFile&) const = default;
  std::string fact(std::string_view word) const;  // the first of that name; empty when there is none
};

// Throws UsageError "FILE:LINE: what is wrong; remedy" for anything that print_golden_file would not have written.
// `name` stands for the file in messages.
GoldenFile parse_golden_file(std::string_view text, std::string_view kind, const std::string& name);
std::string print_golden_file(const GoldenFile& file);

// Throws UsageError when the file is absent or unreadable, too.
GoldenFile read_golden_file(const std::filesystem::path& path, std::string_view kind);

// Nothing approved is what an absent file or folder says, and nothing else: both throw UsageError for what is there and
// cannot be read, a loop of links or a file in the place of a folder, say.
bool has_golden_file(const std::filesystem::path& path);
std::vector<std::filesystem::path> golden_files_in(const std::filesystem::path& folder);  // *.txt, in order

// A file appears whole or not at all, whatever happens meanwhile. Makes the folder. Throws UsageError that names it.
void write_golden_file(const std::filesystem::path& path, const GoldenFile& file);

// A text as one word of a line: bytes outside the printable ASCII characters, space, '%' and '=' are written %XX.
std::string escaped(std::string_view text);
// Adds it to `out`; false for what escaped() does not write.
bool unescape(std::string_view text, std::string& out);

// "FILE:LINE: problem; restore the file ..." for a value that the file's reader does not understand.
[[noreturn]] void reject_golden(const std::string& name, int64_t line, const std::string& problem);
[[noreturn]] void reject_golden(const std::string& name, const std::string& key, const std::string& problem);

}  // namespace assay
