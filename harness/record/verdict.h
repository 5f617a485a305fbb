// The published tables: the closed set of checks, and the exit code of each verdict.
#pragma once

#include <array>
#include <span>
#include <string_view>

#include "record/record.h"

namespace assay {

struct VerdictRow {
  Verdict verdict;
  std::string_view word;
  int exit_code;
  std::string_view meaning;
};
// In the order of the enumeration, which is the order of severity.
std::span<const VerdictRow> verdict_table();

struct CheckRow {
  std::string_view check;
  Verdict verdict;  // of a failure
  std::string_view meaning;
};
// Every correctness record has exactly one result for each of these, in this order.
std::span<const CheckRow> check_table();

std::string_view word_of(Verdict verdict);
std::string_view word_of(Outcome outcome);
int exit_code_of(Verdict verdict);

// One code for a run: precedence 4 > 1 > 3 > 2 > 0.
int combine_exit_codes(int a, int b);

// A check's result with the verdict its failure means. Throws Error for a name outside the table.
CheckResult check_result(std::string_view check, Outcome outcome, std::string detail = "");

// Sets verdict and reason from the checks: the worst failure's; `pass`, or `unsupported` where the judge said so, when
// every check of the table is there and none failed; `error` when one is missing.
void conclude(Record& record);

// What a record, read from a file, has that conclude() leaves in none: checks that are missing or there twice, or a
// verdict that its checks do not give. "FIELD: PROBLEM"; empty: nothing. Of an `error` nothing is known.
std::string contradiction(const Record& record);

}  // namespace assay
