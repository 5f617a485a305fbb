#include "gate/findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "gate/goldens.h"
#include "gate/nearest.h"
#include "golden/stored_cases.h"
#include "record/json_text.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

std::string content_of(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

// Files below tree/folder, relative to the tree, in name order.
std::set<std::string> files_of(const fs::path& tree, const fs::path& folder) {
  std::set<std::string> files;
  std::error_code error;
  for (fs::recursive_directory_iterator entry(tree / folder, error), end; !error && entry != end;
       entry.increment(error)) {
    if (entry->is_regular_file()) files.insert(fs::relative(entry->path(), tree).string());
  }
  return files;
}

std::map<std::string, int64_t> line_counts(const std::string& text) {
  std::map<std::string, int64_t> counts;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) ++counts[line];
  return counts;
}

std::string lines_changed(const std::string& before, const std::string& after) {
  std::map<std::string, int64_t> counts = line_counts(after);
  for (const auto& [line, count] : line_counts(before)) counts[line] -= count;
  int64_t added = 0, gone = 0;
  for (const auto& [line, count] : counts) (count > 0 ? added : gone) += count;
  return fmt::format("{} line{} added, {} removed", added, added == 1 ? "" : "s", -gone);
}

// The first lines that one text has more than another, each behind `sign`.
std::string lines_beyond(const std::string& text, const std::string& other, char sign) {
  constexpr int kMostLines = 3;
  constexpr size_t kMostLetters = 60;
  std::map<std::string, int64_t> counts = line_counts(other);
  std::istringstream in(text);
  std::string told;
  int lines = 0;
  for (std::string line; std::getline(in, line);) {
    if (--counts[line] >= 0 || line.empty()) continue;
    if (++lines > kMostLines) return told + " ...";
    std::ranges::replace_if(
        line, [](unsigned char c) { return c < ' ' || c == 0x7f; }, ' ');
    told +=
        fmt::format(" {}{}{}", sign, valid_utf8(line.substr(0, kMostLetters)), line.size() > kMostLetters ? "..." : "");
  }
  return told;
}

std::vector<std::string> registrations(const fs::path& file, const std::regex& line_form,
                                       std::string (*name)(const std::smatch&)) {
  std::vector<std::string> names;
  std::ifstream in(file);
  std::smatch match;
  for (std::string line; std::getline(in, line);) {
    if (std::regex_search(line, match, line_form)) names.push_back(name(match));
  }
  return names;
}

// One finding a kernel that has cases of which `what` says something: their number, and of the first what it says.
std::vector<Finding> of_each_kernel(const std::vector<Record>& records,
                                    const std::function<std::string(const Record&)>& what) {
  std::map<std::string, std::pair<int64_t, std::string>> kernels;
  for (const Record& record : records) {
    const std::string said = what(record);
    if (said.empty()) continue;
    auto& [cases, first] = kernels[record.op + "/" + record.kernel];
    if (cases++ == 0) first = said;
  }
  std::vector<Finding> findings;
  for (const auto& [kernel, said] : kernels) {
    findings.push_back({"coverage", kernel + ": " + std::to_string(said.first) + " cases " + said.second});
  }
  return findings;
}

}  // namespace

std::vector<Finding> edited_files(const fs::path& base, const fs::path& change) {
  static constexpr std::pair<const char*, const char*> kJudging[] = {
      {"policy", "ci/policy"}, {"pin", "ci/pins"}, {"golden", "golden"}};
  std::vector<Finding> findings;
  for (const auto& [kind, folder] : kJudging) {
    const std::set<std::string> before = files_of(base, folder), after = files_of(change, folder);
    std::set<std::string> all = before;
    all.insert(after.begin(), after.end());
    for (const std::string& file : all) {
      const std::string old_text = content_of(base / file), new_text = content_of(change / file);
      if (!after.contains(file)) {
        findings.push_back({kind, file + " is removed"});
      } else if (!before.contains(file)) {
        findings.push_back({kind, file + " is new"});
      } else if (old_text != new_text) {
        std::string said = file + " is edited: " + lines_changed(old_text, new_text);
        const bool is_read_by_people = std::string_view(kind) != "golden";
        if (is_read_by_people) {
          said += ":" + lines_beyond(old_text, new_text, '-') + lines_beyond(new_text, old_text, '+');
        }
        findings.push_back({kind, said});
      }
    }
  }
  return findings;
}

std::string why_not_by_base(const fs::path& base, const fs::path& change) {
  static const std::regex form(R"(^#define ASSAY_ABI_VERSION (\w+))");
  const auto abi = [](const fs::path& tree) {
    return registrations(tree / "harness/core/include/assay/abi.h", form,
                         [](const std::smatch& match) { return match[1].str(); });
  };
  if (abi(base) != abi(change)) return "it has another version of the module ABI";
  const auto ops = [](const fs::path& tree) {
    const std::vector<std::string> names = registered_ops(tree);
    return std::set<std::string>(names.begin(), names.end());
  };
  return ops(base) != ops(change) ? "it has other ops" : "";
}

std::vector<Finding> edited_harness(const fs::path& base, const fs::path& change, const fs::path& judging) {
  std::set<std::string> edited;
  for (const char* folder : {"harness", "reference"}) {
    std::set<std::string> all = files_of(base, folder);
    all.merge(files_of(change, folder));
    for (const std::string& file : all) {
      if (file.starts_with("harness/tests/") || file.ends_with(".md")) continue;  // they judge nothing
      if (content_of(base / file) != content_of(change / file)) edited.insert(file);
    }
  }
  if (edited.empty()) return {};
  constexpr int kNamed = 5;
  std::string names;
  int named = 0;
  for (const std::string& file : edited) {
    names += (named == 0 ? "" : ", ") + (named < kNamed ? file : "...");
    if (++named > kNamed) break;
  }
  std::error_code error;
  const bool by_base = fs::equivalent(base, judging, error) && !error;
  const std::string why = why_not_by_base(base, change);
  return {{"harness", std::to_string(edited.size()) + " files differ from the base (" + names + "); judged by " +
                          (by_base ? "the base's harness" : "the change's own harness") +
                          (by_base || why.empty() ? "" : ": " + why)}};
}

std::vector<std::string> registered_ops(const fs::path& tree) {
  static const std::regex form(R"(^\s*assay_op\(\s*(\w+)\s*\))");
  return registrations(tree / "reference" / "CMakeLists.txt", form,
                       [](const std::smatch& match) { return match[1].str(); });
}

std::vector<std::string> registered_kernels(const fs::path& tree) {
  static const std::regex form(R"(^\s*assay_kernel\(\s*(\w+)\s+(\w+)\.\w+)");
  return registrations(tree / "kernels" / "CMakeLists.txt", form,
                       [](const std::smatch& match) { return match[1].str() + "/" + match[2].str(); });
}

std::vector<std::string> registered_cuda_kernels(const fs::path& tree) {
  static const std::regex form(R"(^\s*assay_kernel\(\s*(\w+)\s+(\w+)\.cu\b)");
  std::vector<std::string> names =
      registrations(tree / "kernels" / "CMakeLists.txt", form,
                    [](const std::smatch& match) { return match[1].str() + "/" + match[2].str(); });
  std::set<std::string> dispatchers;
  for (const std::string& name : names) dispatchers.insert(name.substr(0, name.find('/')) + "/dispatch_cuda");
  names.insert(names.end(), dispatchers.begin(), dispatchers.end());
  return names;
}

std::vector<Finding> removed(const std::string& what, const std::vector<std::string>& before,
                             const std::vector<std::string>& now) {
  const std::set<std::string> have(now.begin(), now.end());
  std::set<std::string> gone;
  for (const std::string& name : before) {
    if (!have.contains(name)) gone.insert(name);
  }
  std::vector<Finding> findings;
  for (const std::string& name : gone) findings.push_back({"removed", what + " " + name + " is gone"});
  return findings;
}

std::vector<Finding> expired_known_issues(const Policy& policy, Date today) {
  std::vector<Finding> findings;
  for (const KnownIssue& issue : policy.known_issues) {
    if (today <= issue.expires) continue;
    findings.push_back({"policy", "known issue of " + issue.kernel + " (" + issue.owner + ") expired on " +
                                      print_date(issue.expires) + " and no longer applies"});
  }
  return findings;
}

std::vector<Finding> judged_nothing(const std::vector<Record>& records, bool each) {
  struct Count {
    int64_t cases = 0, refused = 0, not_available = 0;
  };
  std::map<std::pair<std::string, std::string>, Count> kernels;  // by op and name
  std::set<std::string> judged_ops;
  for (const Record& record : records) {
    Count& count = kernels[{record.op, record.kernel}];
    ++count.cases;
    if (record.verdict != Verdict::unsupported) {
      judged_ops.insert(record.op);
      continue;
    }
    ++count.refused;
    if (record.reason.starts_with(kNotAvailable)) ++count.not_available;
  }
  std::vector<Finding> findings;
  if (!each && !judged_ops.empty()) return findings;
  for (const auto& [kernel, count] : kernels) {
    const auto& [op, name] = kernel;
    if (count.refused != count.cases || (judged_ops.contains(op) && count.not_available == count.cases)) continue;
    findings.push_back({"coverage", op + "/" + name + ": all " + std::to_string(count.cases) +
                                        " cases are unsupported; nothing was judged"});
  }
  return findings;
}

std::vector<Finding> no_longer_judged(const std::vector<Record>& records, const Approvals& approvals) {
  return of_each_kernel(records, [&](const Record& record) -> std::string {
    if (record.verdict != Verdict::unsupported || approvals(record).line == nullptr) return "";
    return "approved on this platform are unsupported now, such as " + record.kernel_id + ": " + record.reason;
  });
}

std::vector<Finding> no_longer_compared(const std::vector<Record>& records, const Approvals& approvals) {
  return of_each_kernel(records, [&](const Record& record) -> std::string {
    const Approval approval = approvals(record);
    if (record.verdict == Verdict::unsupported || approval.line == nullptr || approval.comparable()) return "";
    return "approved on this platform were not compared with that, such as " + record.kernel_id + ": " +
           approval.why_not();
  });
}

std::vector<Finding> ops_left_out(const Plan& plan, const std::string& device, const std::vector<NoKernel>& expected) {
  std::set<std::string> planned, left_out;
  for (const PlannedCase& one : plan.cases) planned.insert(plan.kernel_of(one).op);
  for (const size_t k : plan.other_device) left_out.insert(plan.kernels[k].op);
  std::vector<Finding> findings;
  for (const std::string& op : left_out) {
    const auto is_expected = [&](const NoKernel& one) { return one.target == device && glob_matches(one.op, op); };
    if (planned.contains(op) || std::any_of(expected.begin(), expected.end(), is_expected)) continue;
    findings.push_back({"coverage", "op " + op + ": no kernel of target " + device + "; nothing was judged"});
  }
  return findings;
}

std::vector<Finding> too_few_cases(const Policy& policy, Tier tier, size_t planned) {
  const uint64_t least = policy.tiers.at(tier).least_cases;
  if (planned >= least) return {};
  return {{"removed", "tier " + std::string(name_of(tier)) + " plans " + std::to_string(planned) +
                          " kernel-cases; policy wants at least " + std::to_string(least)}};
}

std::vector<Finding> findings_against_base(const fs::path& base, const fs::path& change, const fs::path& judging,
                                           const std::vector<KernelInfo>& kernels, const OpRegistry& ops,
                                           const std::vector<BenchCase>& bench) {
  std::vector<std::string> kernel_names, op_names;
  for (const KernelInfo& kernel : kernels) kernel_names.push_back(kernel.op + "/" + kernel.name);
  for (const auto& op : ops.all()) op_names.emplace_back(op->name());
  if (std::ranges::none_of(kernels, [](const KernelInfo& kernel) { return kernel.target == "cuda"; })) {
    // Nobody compiled any here: gone is what the change lists no more.
    for (const std::string& name : registered_cuda_kernels(change)) kernel_names.push_back(name);
  }
  std::vector<Finding> findings = edited_files(base, change);
  const auto add = [&](std::vector<Finding> more) { findings.insert(findings.end(), more.begin(), more.end()); };
  add(edited_harness(base, change, judging));
  add(removed("op", registered_ops(base), op_names));
  std::vector<std::string> kernels_before = registered_kernels(base);
  for (const std::string& kernel : golden_kernels(base / "golden")) kernels_before.push_back(kernel);
  add(removed("kernel", kernels_before, kernel_names));
  std::vector<std::string> cases;
  const std::vector<Case> stored = without_why(read_stored_cases(change / "golden" / "cases", ops));
  for (const Case& c : every_case(ops, bench, stored)) cases.push_back(truth_key(c.id()));
  add(removed("case", golden_cases(base / "golden"), cases));
  return findings;
}

}  // namespace assay
