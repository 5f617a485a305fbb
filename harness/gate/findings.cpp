#include "gate/findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "core/contract_change.h"
#include "core/error.h"
#include "gate/goldens.h"
#include "gate/nearest.h"
#include "gate/tree_files.h"
#include "golden/apply.h"
#include "golden/stored_cases.h"
#include "golden/update.h"
#include "record/json_text.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

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

// What judges beside the harness and the references: those whose path begins so, the first that fits.
struct PartThatJudges {
  const char *kind, *path, *does;
};
constexpr PartThatJudges kPartsThatJudge[] = {{"policy", "ci/policy", ""},
                                              {"pin", "ci/pins", ""},
                                              {"golden", "golden", ""},
                                              {"ci", "ci/arm", ", which builds both arms,"},
                                              {"ci", "ci/libraries", ", which names versions of libraries,"},
                                              {"ci", "ci/setup", ", which installs what is built with,"},
                                              {"ci", "ci/requirements.txt", ", which lists what is built with,"},
                                              {"ci", "ci/cuda-requirements.txt", ", which lists what is built with,"},
                                              {"ci", "ci/packages.txt", ", which lists what is built with,"},
                                              {"ci", "ci", ", which CI runs,"},
                                              {"ci", ".ci", ", which CI runs,"},
                                              {"ci", ".github", ", which CI runs,"},
                                              {"ci", ".gitignore", ", which says what no arm is built of,"},
                                              {"report", "dashboards/assay_dashboards", ", which writes the report,"}};

const PartThatJudges& part_of(const std::string& file) {
  return *std::find_if(std::begin(kPartsThatJudge), std::end(kPartsThatJudge), [&](const PartThatJudges& part) {
    const std::string path = part.path;
    return file == path || file.starts_with(path + "/");
  });
}

// What is said of a file behind its name: that it is a link, and what it does.
std::string told_of(const fs::path& file, const PartThatJudges& part) {
  const std::string target = link_target(file), does = part.does;
  if (target.empty()) return does;
  return ", a link to " + one_line(target) + (does.empty() ? "," : does);
}

bool judges(const std::string& file) {
  // What the contracts of a change are is held against the modules: weakened_contracts().
  return !file.ends_with(".md") && !file.starts_with("ci/tests/") && file != "golden/" + std::string(kContractsFile);
}

bool is_cmake(const std::string& file) { return file.ends_with("/CMakeLists.txt") || file.ends_with(".cmake"); }

// What a file of CMake's says but for comments and lines that only register a kernel or a test: any other line may
// change how every target is compiled. The rule of same_build() in ci/gate.
std::vector<std::string> rules_of(const std::string& text) {
  static const std::regex registers(R"(\s*(assay_(kernel|test)\([\w ./:]+\)|#([^\["][^"]*)?)?\s*)");
  std::vector<std::string> rules;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    if (!std::regex_match(line, registers)) rules.push_back(line);
  }
  return rules;
}

std::string name_of(const KernelInfo& kernel) { return kernel.op + "/" + kernel.name; }

std::map<std::string, const KernelInfo*> by_name(const std::vector<KernelInfo>& kernels) {
  std::map<std::string, const KernelInfo*> named;
  for (const KernelInfo& kernel : kernels) named[name_of(kernel)] = &kernel;
  return named;
}

// Where the change's golden/contracts.txt says otherwise than its modules: a later change would be compared with that.
std::vector<Finding> stale_contracts(const fs::path& change, const std::vector<KernelInfo>& kernels) {
  const std::string remedy = "; build everything and run 'assay golden update --contracts'";
  std::vector<Finding> findings;
  try {
    for (const GoldenChange& stale : plan_contracts_update(change / "golden", kernels)) {
      const std::string text = lines_changed(print_golden_file(stale.before), print_golden_file(stale.after));
      findings.push_back({"contract", "golden/contracts.txt is not what the kernels say: " + text + remedy});
    }
  } catch (const UsageError& e) {
    findings.push_back({"contract", e.what()});
  }
  return findings;
}

// The change's kernels: those that were built, and of a target of which nobody built any, as its file has them.
std::vector<KernelInfo> with_those_not_built(std::vector<KernelInfo> kernels, const fs::path& change) {
  std::set<std::string> targets;
  for (const KernelInfo& kernel : kernels) targets.insert(kernel.target);
  std::vector<KernelInfo> told;
  try {
    told = read_contracts(change / "golden");
  } catch (const UsageError&) {
    return kernels;  // stale_contracts() tells
  }
  std::ranges::copy_if(told, std::back_inserter(kernels),
                       [&](const KernelInfo& kernel) { return !targets.contains(kernel.target); });
  return kernels;
}

}  // namespace

std::vector<Finding> edited_files(const fs::path& base, const fs::path& change) {
  std::vector<Finding> findings;
  for (const PartThatJudges& part : kPartsThatJudge) {
    const std::set<std::string> before = files_of(base, part.path), after = files_of(change, part.path);
    std::set<std::string> all = before;
    all.insert(after.begin(), after.end());
    for (const std::string& file : all) {
      if (&part_of(file) != &part || !judges(file)) continue;
      const std::string old_text = text_of(base / file, base), new_text = text_of(change / file, change);
      const std::string what = file + told_of((after.contains(file) ? change : base) / file, part);
      if (!after.contains(file)) {
        findings.push_back({part.kind, what + " is removed"});
      } else if (!before.contains(file)) {
        findings.push_back({part.kind, what + " is new"});
      } else if (old_text != new_text) {
        std::string said = what + " is edited: " + lines_changed(old_text, new_text);
        const bool is_read_by_people = std::string_view(part.kind) != "golden";
        if (is_read_by_people) {
          said += ":" + lines_beyond(old_text, new_text, '-') + lines_beyond(new_text, old_text, '+');
        }
        findings.push_back({part.kind, said});
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
  for (const char* folder : {"harness", "reference", "kernels", "CMakeLists.txt"}) {
    std::set<std::string> all = files_of(base, folder);
    all.merge(files_of(change, folder));
    for (const std::string& file : all) {
      const bool is_under_test = file.starts_with("kernels/") || file.starts_with("harness/tests/");
      if (is_under_test ? !is_cmake(file) : !judges(file)) continue;
      const std::string old_text = text_of(base / file, base), new_text = text_of(change / file, change);
      if (is_under_test ? rules_of(old_text) != rules_of(new_text) : old_text != new_text) edited.insert(file);
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

std::vector<Finding> weakened_contracts(const fs::path& base, const fs::path& change,
                                        const std::vector<KernelInfo>& kernels) {
  std::vector<Finding> findings = stale_contracts(change, kernels);
  const std::vector<KernelInfo> before = read_contracts(base / "golden");
  if (before.empty()) {
    findings.push_back({"contract", "the base has no golden/contracts.txt: no contract was compared with its own"});
    return findings;
  }
  const std::vector<KernelInfo> all = with_those_not_built(kernels, change);
  const std::map<std::string, const KernelInfo*> now = by_name(all), known = by_name(before);
  for (const std::string& kernel : registered_kernels(base)) {
    if (known.contains(kernel) || !now.contains(kernel)) continue;
    findings.push_back({"contract", kernel + ": the base's golden/contracts.txt does not have it; not compared"});
  }
  for (const auto& [kernel, old] : known) {
    const auto found = now.find(kernel);
    if (found == now.end()) {  // told as removed, unless its target was not built
      if (std::ranges::none_of(kernels, [&](const KernelInfo& one) { return one.target == old->target; })) {
        findings.push_back({"contract", kernel + ": golden/contracts.txt does not have it any more; not compared"});
      }
      continue;
    }
    std::vector<std::string> lines = weakened(old->contract, found->second->contract);
    if (found->second->target != old->target) {
      lines.insert(lines.begin(), "target: was " + old->target + ", now " + found->second->target);
    }
    for (const std::string& line : lines) findings.push_back({"contract", kernel + ": " + line});
  }
  return findings;
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

std::vector<Finding> judged_nothing(const std::vector<Record>& records, bool each,
                                    const std::vector<NotEverywhere>& expected) {
  struct Count {
    int64_t cases = 0, refused = 0, not_available = 0;
    std::string lack{};
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
    if (!record.reason.starts_with(kNotAvailable)) continue;
    ++count.not_available;
    count.lack = record.reason;
  }
  std::vector<Finding> findings;
  if (!each && !judged_ops.empty()) return findings;
  for (const auto& [kernel, count] : kernels) {
    const std::string& op = kernel.first;
    const std::string name = op + "/" + kernel.second;
    const bool is_expected =
        std::ranges::any_of(expected, [&](const NotEverywhere& one) { return glob_matches(one.kernel, name); });
    const bool is_lack = is_expected && judged_ops.contains(op) && count.not_available == count.cases;
    if (count.refused != count.cases || is_lack) continue;
    findings.push_back({"coverage", name + ": all " + std::to_string(count.cases) +
                                        " cases are unsupported; nothing was judged" +
                                        (count.lack.empty() ? "" : ": ") + count.lack});
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

std::vector<Finding> other_libraries(const std::vector<Record>& records,
                                     const std::map<std::string, std::string>& approved_with) {
  std::set<std::string> judged;
  for (const Record& record : records) {
    if (record.verdict != Verdict::unsupported) judged.insert(record.op + "/" + record.kernel);
  }
  std::vector<Finding> findings;
  for (const auto& [kernel, libraries] : approved_with) {
    if (!judged.contains(kernel)) continue;
    findings.push_back({"coverage", kernel + ": was approved with " + libraries +
                                        ", and computes with other libraries now: nothing of it was compared"});
  }
  return findings;
}

std::vector<Finding> no_longer_promised(const std::vector<Record>& records, const Approvals& approvals,
                                        const std::vector<KernelInfo>& before) {
  std::set<std::string> promising;
  for (const KernelInfo& kernel : before) {
    if (kernel.contract.promised(kPromisesBits)) promising.insert(name_of(kernel));
  }
  return of_each_kernel(records, [&](const Record& record) -> std::string {
    const auto is_dropped = [](const CheckResult& result) {
      return result.check == "golden-bits" && result.outcome == Outcome::not_applicable;
    };
    if (record.output_hash.empty() || approvals(record).comparable() == nullptr) return "";
    if (!promising.contains(record.op + "/" + record.kernel)) return "";
    if (std::none_of(record.checks.begin(), record.checks.end(), is_dropped)) return "";
    return "approved on this platform promise their bits no longer, such as " + record.kernel_id;
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
  add(weakened_contracts(base, change, kernels));
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
