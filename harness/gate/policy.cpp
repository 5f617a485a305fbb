#include "gate/policy.h"

#include <algorithm>

#include "core/error.h"
#include "gate/nearest.h"
#include "gate/record_libraries.h"
#include "gate/toml_file.h"
#include "record/verdict.h"

namespace assay {
namespace {

TierPolicy read_tier(TomlTable table) {
  TierPolicy tier;
  table.allow({"seconds", "least_cases", "warm_samples", "cold_samples", "sampling_seconds"});
  tier.seconds = table.positive("seconds");
  tier.least_cases = table.count("least_cases");
  tier.warm_samples = static_cast<int>(std::min<uint64_t>(table.count("warm_samples"), 1000000));
  tier.cold_samples = static_cast<int>(std::min<uint64_t>(table.count("cold_samples"), 1000000));
  tier.sampling_seconds = table.positive("sampling_seconds");
  return tier;
}

// `error` and the passing verdicts cannot be excused: one is the harness's own failure, the others need no excuse.
Verdict excusable_verdict(TomlTable& table) {
  const std::string word = table.text("verdict");
  std::vector<std::string> words;
  for (const VerdictRow& row : verdict_table()) {
    if (row.exit_code == 0 || row.verdict == Verdict::error) continue;
    if (row.word == word) return row.verdict;
    words.emplace_back(row.word);
  }
  table.fail("verdict", "'" + word + "' is not a verdict that can be excused" + suggestion(word, words));
}

KnownIssue read_known_issue(TomlTable table) {
  KnownIssue issue;
  table.allow({"kernel", "verdict", "reason", "owner", "expires", "libraries", "processor_lacks", "isa"});
  issue.kernel = table.text("kernel");
  if (issue.kernel.find('/') == std::string::npos) {
    table.fail("kernel", "'" + issue.kernel + "' is no glob over kernel ids; one looks like gemm/simd:*dtype=f16*");
  }
  issue.verdict = excusable_verdict(table);
  issue.reason = table.text("reason");
  issue.owner = table.text("owner");
  issue.expires = table.date("expires");
  if (table.has("libraries")) issue.libraries = table.words("libraries");
  for (const std::string& library : issue.libraries) {
    const size_t space = library.find(' ');
    if (space == 0 || space >= library.size() - 1 || library.find(' ', space + 1) != std::string::npos) {
      table.fail("libraries", "'" + library + "' is no library and version; one looks like libdnnl 3.9");
    }
  }
  if (table.has("isa")) issue.isa = table.words("isa");
  if (table.has("processor_lacks")) issue.processor_lacks = table.words("processor_lacks");
  for (const std::string& set : issue.processor_lacks) {
    if (!is_instruction_set(set)) {
      table.fail("processor_lacks",
                 "'" + set + "' is no instruction set that run.json names; one looks like avx512_bf16");
    }
  }
  return issue;
}

Tier tier_of(const TomlTable& table, const char* key, const std::string& word) {
  const auto tier = std::find_if(kTiers.begin(), kTiers.end(), [&](Tier t) { return name_of(t) == word; });
  if (tier == kTiers.end()) table.fail(key, "'" + word + "' is not one of smoke, ci, nightly");
  return *tier;
}

std::vector<Tier> read_tiers(TomlTable& table) {
  std::vector<Tier> tiers;
  for (const std::string& word : table.words("tiers")) tiers.push_back(tier_of(table, "tiers", word));
  return tiers;
}

Lighter read_lighter(TomlTable table) {
  Lighter lighter;
  table.allow({"kernel", "tier", "cases", "reason"});
  lighter.kernel = table.text("kernel");
  if (lighter.kernel.find('/') == std::string::npos || lighter.kernel.find(':') != std::string::npos) {
    table.fail("kernel", "'" + lighter.kernel + "' is no glob over op/kernel; one looks like softmax/*");
  }
  lighter.tier = tier_of(table, "tier", table.text("tier"));
  lighter.cases = tier_of(table, "cases", table.text("cases"));
  if (lighter.cases >= lighter.tier) {
    table.fail("cases", "'" + std::string(name_of(lighter.cases)) + "' is no smaller tier than " +
                            std::string(name_of(lighter.tier)) + ", the entry's own");
  }
  lighter.reason = table.text("reason");
  return lighter;
}

NoKernel read_no_kernel(TomlTable table) {
  NoKernel none;
  table.allow({"op", "target", "reason"});
  none.op = table.text("op");
  none.target = table.text("target");
  if (none.target != "cpu" && none.target != "cuda") {
    table.fail("target", "'" + none.target + "' is no target; there are cpu and cuda");
  }
  none.reason = table.text("reason");
  return none;
}

NotEverywhere read_not_everywhere(TomlTable table) {
  table.allow({"kernel", "reason"});
  return {table.text("kernel"), table.text("reason")};
}

// Of a version, or of its first numbers.
bool is_version(const std::string& version, const std::string& asked) {
  return version == asked || version.starts_with(asked + ".");
}

// Of a build-id, or of enough of it to be no other's.
bool is_build(const std::string& id, const std::string& asked) {
  constexpr std::string_view kCode = "code-";  // before a hash that stands for the id a library lacks
  const size_t digits = asked.size() - (asked.starts_with(kCode) ? kCode.size() : 0);
  return id == asked || (digits >= 16 && id.starts_with(asked));
}

}  // namespace

std::string print_date(Date date) {
  char text[16];
  std::snprintf(text, sizeof text, "%04d-%02u-%02u", static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
                static_cast<unsigned>(date.day()));
  return text;
}

Date today() { return std::chrono::floor<std::chrono::days>(std::chrono::system_clock::now()); }

Policy read_policy(const std::filesystem::path& folder) {
  const std::filesystem::path file = folder / "policy.toml";
  const toml::table parsed = read_toml(file);
  TomlTable root(file.string(), "", parsed);
  Policy policy;
  policy.folder = folder;
  root.allow(
      {"checks", "tiers", "limits", "latency", "canary", "known_issue", "lighter", "no_kernel", "not_everywhere"});
  policy.checks = root.words("checks");
  TomlTable tiers = root.table("tiers");
  std::vector<std::string> tier_names;
  for (const Tier tier : kTiers) tier_names.emplace_back(name_of(tier));
  tiers.allow(tier_names);
  for (const Tier tier : kTiers) policy.tiers[tier] = read_tier(tiers.table(name_of(tier)));
  TomlTable limits = root.table("limits");
  limits.allow({"launch_seconds", "worker_bytes", "workspace_bytes"});
  policy.launch_seconds = limits.positive("launch_seconds");
  policy.worker_bytes = limits.count("worker_bytes");
  policy.workspace_limit_bytes = limits.count("workspace_bytes");
  if (root.has("latency")) policy.latency = read_latency_policy(root.table("latency"));
  if (root.has("canary")) policy.canary = read_canary_policy(root.table("canary"));
  for (TomlTable& issue : root.tables("known_issue")) policy.known_issues.push_back(read_known_issue(issue));
  for (TomlTable& entry : root.tables("no_kernel")) policy.no_kernel.push_back(read_no_kernel(entry));
  for (TomlTable& entry : root.tables("not_everywhere")) policy.not_everywhere.push_back(read_not_everywhere(entry));
  for (TomlTable& entry : root.tables("lighter")) {
    const Lighter lighter = read_lighter(entry);
    for (const Lighter& earlier : policy.lighter) {
      if (earlier.kernel == lighter.kernel && earlier.tier == lighter.tier) {
        entry.fail("kernel", "'" + lighter.kernel + "' has an entry for " + std::string(name_of(lighter.tier)) +
                                 " already; keep one");
      }
    }
    policy.lighter.push_back(lighter);
  }
  return policy;
}

std::vector<BenchCase> read_bench(const std::filesystem::path& folder, const OpRegistry& ops) {
  const std::filesystem::path file = folder / "bench.toml";
  const toml::table parsed = read_toml(file);
  TomlTable root(file.string(), "", parsed);
  root.allow({"case"});
  std::vector<BenchCase> bench;
  for (TomlTable& table : root.tables("case")) {
    BenchCase one;
    table.allow({"tiers", "workload", "id"});
    one.tiers = read_tiers(table);
    one.workload = table.text("workload");
    try {
      one.c = ops.parse_case(table.text("id"));
    } catch (const UsageError& e) {
      table.fail("id", e.what());
    }
    for (const BenchCase& earlier : bench) {
      if (earlier.c == one.c) table.fail("id", "'" + one.c.id() + "' is listed twice; join the tiers in one entry");
    }
    bench.push_back(std::move(one));
  }
  return bench;
}

std::string why_another(const KnownIssue& issue, const std::vector<LoadedLibrary>& brought, const Record& record,
                        const Facts& environment) {
  const auto fact = environment.find("cpu.instruction_sets");
  const std::string present = fact == environment.end() ? "unknown" : fact->second;
  for (const std::string& set : issue.processor_lacks) {
    if (present == "unknown") return "it is not known whether the processor has " + set;
    if ((" " + present + " ").find(" " + set + " ") != std::string::npos) return "the processor has " + set;
  }
  if (!issue.isa.empty()) {
    const auto chosen = record.selection.find("isa");
    if (chosen == record.selection.end()) return "its selection names no isa";
    if (std::find(issue.isa.begin(), issue.isa.end(), chosen->second) == issue.isa.end()) {
      return "the library chose " + chosen->second;
    }
  }
  const std::vector<LoadedLibrary> loaded =
      issue.libraries.empty() ? std::vector<LoadedLibrary>{} : libraries_of(record, brought);
  for (const std::string& library : issue.libraries) {
    const size_t space = library.find(' ');
    const std::string name = library.substr(0, space), what = library.substr(space + 1);
    std::string others;
    bool all_are_it = true;
    for (const LoadedLibrary& one : loaded) {
      if (!std::filesystem::path(one.path).filename().string().starts_with(name + ".so")) continue;
      all_are_it = all_are_it && (is_version(one.version, what) || is_build(one.build_id, what));
      others += (others.empty() ? "" : ", ") + one.version + " (build-id " + one.build_id + ")";
    }
    if (others.empty()) return name + " is not loaded";
    if (!all_are_it) return name + " is " + others + ", not " + what;
  }
  return "";
}

std::vector<std::string> missing_checks(const Policy& policy) {
  std::vector<std::string> missing, known;
  for (const CheckRow& row : check_table()) known.emplace_back(row.check);
  for (const std::string& check : policy.checks) {
    if (std::find(known.begin(), known.end(), check) != known.end()) continue;
    missing.push_back("check " + check + " is gone: " + (policy.folder / "policy.toml").string() +
                      " lists it under checks, this build has none of that name" + suggestion(check, known));
  }
  return missing;
}

bool is_of(const KnownIssue& issue, const Record& record, const std::string& of_case) {
  return glob_matches(issue.kernel, record.kernel_id) || (!of_case.empty() && glob_matches(issue.kernel, of_case));
}

void apply_known_issues(const std::vector<KnownIssue>& issues, const std::vector<LoadedLibrary>& brought,
                        const Facts& environment, Date today, Record& record) {
  if (exit_code_of(record.verdict) == 0 || record.verdict == Verdict::error) return;
  std::string another;  // of issues that would be these failures' elsewhere
  const auto issue_for = [&](Verdict verdict, const std::string& of_case) -> const KnownIssue* {
    for (const KnownIssue& issue : issues) {
      if (issue.verdict != verdict || today > issue.expires || !is_of(issue, record, of_case)) continue;
      const std::string why = why_another(issue, brought, record, environment);
      if (why.empty()) return &issue;
      const std::string told = "; not the known issue of " + issue.owner + ", " + issue.reason + ": " + why;
      if (another.find(told) == std::string::npos) another += told;
    }
    return nullptr;
  };
  const KnownIssue* issue = nullptr;  // of the record's verdict
  bool all_known = true;
  for (const CheckResult& result : record.checks) {
    if (result.outcome != Outcome::fail) continue;
    const KnownIssue* found = issue_for(result.verdict, result.of_case);
    all_known = all_known && found != nullptr;
    if (issue == nullptr && result.verdict == record.verdict) issue = found;
  }
  if (issue == nullptr) issue = issue_for(record.verdict, "");
  all_known = all_known && issue != nullptr;
  if (!all_known) {
    record.reason += another;
    return;
  }
  record.reason = std::string(word_of(record.verdict)) + ", known until " + print_date(issue->expires) + " (" +
                  issue->owner + "): " + issue->reason + "; " + record.reason;
  record.verdict = Verdict::known;
}

}  // namespace assay
