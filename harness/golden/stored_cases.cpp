#include "golden/stored_cases.h"

#include "core/error.h"

namespace assay {
namespace {

Case case_of(const std::string& id, const Op& op, const std::string& file) {
  const ParsedId parsed = [&] {
    try {
      return parse_id(id);
    } catch (const UsageError& e) {
      reject_golden(file, id, e.what());
    }
  }();
  if (parsed.op != op.name()) reject_golden(file, id, "is of another op than " + std::string(op.name()));
  if (!parsed.kernel.empty()) reject_golden(file, id, "names a kernel; every kernel of the op is judged by it");
  try {
    Case c = op.make(parsed.fields);
    op.require(c);
    if (c.id() != id) reject_golden(file, id, "is printed as '" + c.id() + "'");
    return c;
  } catch (const UsageError& e) {
    const std::string what = e.what();
    if (what.starts_with(file)) throw;
    reject_golden(file, id, what);
  }
}

}  // namespace

std::vector<StoredCase> read_stored_cases(const std::filesystem::path& folder, const OpRegistry& ops) {
  std::vector<StoredCase> cases;
  for (const auto& op : ops.all()) {
    const std::filesystem::path file = folder / (std::string(op->name()) + ".txt");
    if (!has_golden_file(file)) continue;
    const GoldenFile golden = read_golden_file(file, "cases");
    if (!golden.facts.empty()) reject_golden(file.string(), 2, "a '#' line that nothing here is told by");
    for (const auto& [id, why] : golden.lines) cases.push_back({case_of(id, *op, file.string()), why});
  }
  return cases;
}

std::vector<Case> without_why(const std::vector<StoredCase>& stored) {
  std::vector<Case> cases;
  for (const StoredCase& one : stored) cases.push_back(one.c);
  return cases;
}

std::map<std::string, GoldenFile> stored_case_files(const std::map<std::string, std::string>& why_by_case) {
  std::map<std::string, GoldenFile> files;
  for (const auto& [id, why] : why_by_case) {
    GoldenFile& file = files[id.substr(0, id.find(':'))];
    file.kind = "cases";
    file.lines[id] = one_line(why);
  }
  return files;
}

std::string one_line(std::string_view text) {
  constexpr size_t kMost = 400;
  std::string line;
  for (const char c : text.substr(0, kMost)) line += c >= ' ' && c < 0x7f ? c : '?';
  return line.empty() ? "?" : line;
}

}  // namespace assay
