// Stored cases: golden/cases/OP.txt, one line a case that a kernel of the op failed at once (`assay check --fuzz`) and
// that every kernel of the op is judged by from tier ci on, ever after. Its truth is in golden/truth/OP.txt.
//
//   # assay cases golden, format 1
//   reduce:kind=max,n=257,dtype=f32,seed=9 reduce/simd wrong, accuracy: y[0] got ...; fuzz seed 17
//
// The text says why it is there; nothing reads it but people.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "core/op.h"
#include "golden/file.h"

namespace assay {

struct StoredCase {
  Case c;
  std::string why;
};

// Of every op that has a file, in their order; files of other names are left to git. Throws UsageError that names file
// and line, or the case: for what read_golden_file() refuses, a case of another op, one that the op does not have, or
// an id that is not printed as cases print theirs.
std::vector<StoredCase> read_stored_cases(const std::filesystem::path& folder, const OpRegistry& ops);
std::vector<Case> without_why(const std::vector<StoredCase>& stored);

// The files that hold `why` by case, by op.
std::map<std::string, GoldenFile> stored_case_files(const std::map<std::string, std::string>& why_by_case);

// `text` as the rest of a line: of one line, printable, and not longer than a reader wants.
std::string one_line(std::string_view text);

}  // namespace assay
