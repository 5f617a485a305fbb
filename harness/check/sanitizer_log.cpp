#include "check/sanitizer_log.h"

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "core/error.h"
#include "core/number_text.h"
#include "record/json_text.h"
#include "record/verdict.h"

namespace assay {
namespace {

struct Row {
  Sanitizer tool;
  std::string_view word;
  Verdict verdict;  // what a finding of it makes of a record
};
constexpr std::array kTools{Row{Sanitizer::memcheck, "memcheck", Verdict::memory},
                            Row{Sanitizer::racecheck, "racecheck", Verdict::nondeterministic},
                            Row{Sanitizer::initcheck, "initcheck", Verdict::memory},
                            Row{Sanitizer::synccheck, "synccheck", Verdict::crashed}};

constexpr std::string_view kPrefix = "=========";
constexpr size_t kLongestPart = 300;  // names of templates fill pages

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r");
  return first == text.npos ? "" : text.substr(first, text.find_last_not_of(" \t\r") + 1 - first);
}

// Fit for one line of a record.
std::string clean(std::string_view text) {
  std::string part(text.substr(0, kLongestPart));
  std::replace_if(
      part.begin(), part.end(), [](unsigned char c) { return c < ' ' || c == 0x7f; }, ' ');
  return valid_utf8(part) + (text.size() > kLongestPart ? "..." : "");
}

// A line that starts a description, and those that are indented below it.
struct Block {
  std::string_view head;
  std::vector<std::string_view> details;
};

std::vector<Block> blocks_of(std::string_view text) {
  std::vector<Block> blocks;
  for (size_t end; (end = text.find('\n')) != text.npos; text.remove_prefix(end + 1)) {  // not a torn last line
    std::string_view line = text.substr(0, end);
    if (!line.starts_with(kPrefix)) continue;
    line.remove_prefix(kPrefix.size());
    const bool indented = line.starts_with("  ");
    line = trimmed(line);
    if (!indented || blocks.empty()) {
      blocks.push_back({line, {}});
    } else {
      blocks.back().details.push_back(line);
    }
  }
  return blocks;
}

// "1,024 errors (..." after `label` -> 1024; nothing when it does not read so.
std::optional<int64_t> count_after(std::string_view& line, std::string_view label, std::string_view unit) {
  const auto at = line.find(label);
  if (at == line.npos) return std::nullopt;
  std::string_view rest = line.substr(at + label.size());
  std::string digits;
  size_t i = 0;
  for (; i < rest.size() && (rest[i] == ',' || (rest[i] >= '0' && rest[i] <= '9')); ++i) {
    if (rest[i] != ',') digits += rest[i];
  }
  const std::optional<int64_t> count = number_of<int64_t>(digits);
  if (!count) return std::nullopt;
  rest.remove_prefix(i);
  if (!rest.starts_with(unit)) return std::nullopt;
  line = rest;
  return count;
}

// A log may have several, one a process that the kernel started too: no later one takes back what an earlier one
// counts. "ERROR SUMMARY: 2 errors" and "RACECHECK SUMMARY: 3 hazards displayed (1 error, 2 warnings)"; not "ERROR
// SUMMARY: 28 errors were not printed. ...".
bool read_summary(std::string_view line, SanitizerReport& report) {
  if (line.starts_with("ERROR SUMMARY: ")) {
    const auto errors = count_after(line, "ERROR SUMMARY: ", " error");
    if (!errors || (line != " error" && line != " errors")) return false;
    report.findings = std::max(report.findings, *errors);
  } else if (line.starts_with("RACECHECK SUMMARY: ")) {
    const auto errors = count_after(line, "(", " error");
    const auto warnings = count_after(line, ", ", " warning");
    if (!errors || !warnings) return false;
    report.findings = std::max(report.findings, *errors);
    report.warnings = std::max(report.warnings, *warnings);
  } else {
    return false;
  }
  report.ended = true;
  return true;
}

bool starts_with_any(std::string_view text, std::initializer_list<std::string_view> starts) {
  return std::any_of(starts.begin(), starts.end(), [&](std::string_view start) { return text.starts_with(start); });
}

bool is_finding(std::string_view head) {
  return starts_with_any(
             head, {"Invalid __", "Uninitialized ", "Host API uninitialized", "Barrier error", "Error: Race reported",
                    "Error: Potential", "Malloc/Free error", "Program hit", "Tensor Memory"}) ||
         (head.starts_with("Error: (") && head.find("hazard") != head.npos);
}

bool is_trouble(std::string_view head) {
  return starts_with_any(head, {"Internal Sanitizer Error", "Error: ", "Fatal", "Unable to ", "Target application"});
}

std::string describe(const Block& block) {
  std::string text = clean(block.head);
  for (const std::string_view detail : block.details) {
    if (starts_with_any(detail, {"Saved host backtrace", "Host Frame", "Device Frame", "in "})) break;
    text += (detail.starts_with("at ") || detail.starts_with("by ") || detail.starts_with("and ") ? " " : ", ") +
            clean(detail);
  }
  return text;
}

}  // namespace

std::string_view name_of(Sanitizer tool) { return kTools[static_cast<size_t>(tool)].word; }

Sanitizer sanitizer_named(std::string_view name) {
  for (const Row& row : kTools) {
    if (row.word == name) return row.tool;
  }
  throw UsageError("--sanitizer: there is no '" + std::string(name) +
                   "'; there are memcheck, racecheck, initcheck and synccheck");
}

SanitizerReport read_sanitizer_log(std::string_view text) {
  SanitizerReport report;
  int64_t described = 0;
  std::string other;  // where all that is described is in a form not known here
  for (const Block& block : blocks_of(text)) {
    if (read_summary(block.head, report)) continue;
    if (is_finding(block.head)) {
      if (described++ == 0) report.first = describe(block);
    } else if (is_trouble(block.head)) {
      if (report.trouble.empty()) report.trouble = describe(block);
    } else if (!starts_with_any(block.head, {"COMPUTE-SANITIZER", "Warning: "}) &&
               block.head.find("SUMMARY:") == block.head.npos && !block.head.empty() && other.empty()) {
      other = describe(block);
    }
  }
  report.findings = std::max(report.findings, described);
  if (report.findings > 0 && report.first.empty()) report.first = other.empty() ? "not described" : other;
  return report;
}

CheckResult sanitizer_check(Sanitizer tool, const SanitizerReport& report, bool lost) {
  const std::string name(name_of(tool));
  if (report.findings > 0) {
    CheckResult result = check_result("sanitizer", Outcome::fail,
                                      name + ": " + std::to_string(report.findings) +
                                          (report.findings == 1 ? " error: " : " errors, the first: ") + report.first);
    result.verdict = kTools[static_cast<size_t>(tool)].verdict;
    return result;
  }
  const std::string why = !report.trouble.empty() ? report.trouble : report.ended ? "" : "its log has no summary";
  if (!why.empty() && lost) return check_result("sanitizer", Outcome::skipped, name + " did not see the end: " + why);
  if (!why.empty()) throw Error("compute-sanitizer " + name + " did not watch to the end: " + why);
  const std::string warned = report.warnings == 0 ? "" : ", " + std::to_string(report.warnings) + " warnings";
  return check_result("sanitizer", Outcome::pass, name + warned);
}

}  // namespace assay
