// golden verify | diff | update. Without --run it is about truth goldens, which the oracles here recompute; with --run
// about the observed goldens of its kernels' platforms, which are that run's own records; of a run whose cases were
// drawn (check --fuzz), about what it found. With --contracts it is about what the kernels that are built promise.
#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <utility>

#include "cli/commands.h"
#include "cli/job.h"
#include "cli/loaded.h"
#include "cli/paths.h"
#include "cli/progress.h"
#include "core/error.h"
#include "gate/filter.h"
#include "gate/fuzz.h"
#include "gate/pin.h"
#include "gate/plan.h"
#include "gate/record_libraries.h"
#include "golden/fingerprints.h"
#include "golden/update.h"
#include "record/run_folder.h"
#include "record/verdict.h"

namespace assay {
namespace {

// Truth is about cases, so a filter here may not name a kernel.
std::vector<Filter> case_filters(const Options& options, const OpRegistry& ops) {
  std::vector<KernelInfo> every_op;
  for (const auto& op : ops.all()) {
    KernelInfo kernel;
    kernel.op = op->name();
    kernel.name = "oracle";
    every_op.push_back(kernel);
  }
  std::vector<Filter> filters;
  for (const std::string& text : options.filters) {
    if (!parse_id(text).kernel.empty()) {
      throw UsageError("--filter " + text + ": truth goldens are of cases, not of kernels; leave '/" +
                       parse_id(text).kernel + "' out");
    }
    filters.emplace_back(text, ops, every_op);
  }
  return filters;
}

std::map<std::string, TruthFile> truths_of(const OpRegistry& ops, const std::vector<Case>& cases, int threads) {
  size_t computed = 0;
  const bool terminal = is_terminal(stderr);
  const auto progress = [&](const TruthProgress& now) {
    computed = now.total;
    if (terminal) fmt::print(stderr, "\r\033[K{}/{}  {:.60}", now.done, now.total, now.next);
  };
  std::map<std::string, TruthFile> truths = compute_truths(ops, cases, threads, progress);
  if (terminal) fmt::print(stderr, "\r\033[K");
  const auto recomputed =
      std::count_if(truths.begin(), truths.end(), [](const auto& op) { return !op.second.cases.empty(); });
  fmt::print("{} truths of {} ops recomputed\n", computed, recomputed);
  return truths;
}

std::vector<GoldenChange> truth_changes(const Options& options, const std::filesystem::path& folder) {
  const OpRegistry ops = make_op_registry();
  const std::vector<Filter> filters = case_filters(options, ops);
  std::vector<Case> cases = every_case(ops, read_bench(source_root(options) / "ci" / "policy", ops),
                                       without_why(read_stored_cases(folder / "cases", ops)));
  std::erase_if(cases, [&](const Case& c) {
    KernelInfo oracle;
    oracle.op = c.op();
    oracle.name = "oracle";
    const auto matches = [&](const Filter& filter) { return filter.matches(oracle, c); };
    return !filters.empty() && std::none_of(filters.begin(), filters.end(), matches);
  });
  if (cases.empty()) throw UsageError("golden: the filters match no case of any tier or of the bench");
  const Extent extent = filters.empty() ? Extent::complete : Extent::partial;
  return plan_truth_update(folder / "truth", truths_of(ops, cases, options.threads), extent);
}

// What a run found, to be judged for good, with its truth.
std::vector<GoldenChange> found_changes(const Options& options, const std::filesystem::path& folder) {
  const OpRegistry ops = make_op_registry();
  const std::vector<StoredCase> found = read_stored_cases(options.run_folder / kFoundFolder, ops);
  std::map<std::string, std::string> why_by_case;
  for (const StoredCase& one : found) why_by_case[one.c.id()] = one.why;
  std::vector<GoldenChange> changes = plan_cases_update(folder, why_by_case);
  const auto truths = truths_of(ops, without_why(found), options.threads);
  for (GoldenChange& change : plan_truth_update(folder / "truth", truths, Extent::partial)) {
    changes.push_back(std::move(change));
  }
  return changes;
}

// A whole ci gate of the tree's own kernels says everything there is on its platform; any other run leaves the lines it
// has nothing to say about: `check` plans no bench case, `bench` no other, and an error (exit 4) is no answer.
Extent extent_of(const Run& run) {
  const bool whole = run.asked.command == "gate" && run.asked.tier == "ci" && run.asked.filter.empty() &&
                     run.asked.shard.empty() && run.asked.own_modules && run.planned == run.recorded &&
                     run.left_out.empty() && run.exit_code != 4;
  return whole ? Extent::complete : Extent::partial;
}

// Of observed goldens, the lines of cases that the tier nightly has and ci has not: a ci gate was not asked about them.
Keys of_nightly_alone(const Options& options) {
  const OpRegistry ops = make_op_registry();
  std::set<std::string> nightly, ci;
  for (const auto& op : ops.all()) {
    for (const auto& [tier, ids] : {std::pair(Tier::nightly, &nightly), std::pair(Tier::ci, &ci)}) {
      for (const Case& c : op->cases(tier)) ids->insert(c.id());
      for (const Case& c : op->device_cases(tier)) ids->insert(c.id());
    }
  }
  for (const BenchCase& one : read_bench(source_root(options) / "ci" / "policy", ops)) {
    const auto has = [&](Tier tier) { return std::find(one.tiers.begin(), one.tiers.end(), tier) != one.tiers.end(); };
    if (has(Tier::nightly)) nightly.insert(one.c.id());
    if (has(Tier::ci)) ci.insert(one.c.id());
  }
  for (const std::string& id : ci) nightly.erase(id);
  return [nightly](const std::string& kernel_id) {
    const size_t slash = kernel_id.find('/'), colon = kernel_id.find(':');
    return colon != std::string::npos && nightly.contains(kernel_id.substr(0, slash) + kernel_id.substr(colon));
  };
}

// A finished run whose records are not those it told of has lost some: what is left must not pass for all.
void require_whole(const std::filesystem::path& folder, const Run& run, const std::vector<Record>& records) {
  const std::string file = (folder / "records.jsonl").string();
  std::ifstream in(file, std::ios::binary);
  const bool torn = in.seekg(-1, std::ios::end) && in.get() != '\n';
  if (!torn && static_cast<int64_t>(records.size()) == run.recorded) return;
  throw UsageError(fmt::format("{}: holds {} whole records{}, run.json says {}; resume the run, or run again", file,
                               records.size(), torn ? " and a torn one" : "", run.recorded));
}

// "3 of 40 records left out, which did not pass: 1 wrong, 2 unsupported"; empty when all passed.
std::string not_passed_text(const std::vector<Record>& records) {
  std::map<Verdict, size_t> counts;
  size_t left_out = 0;
  for (const Record& record : records) {
    if (is_approvable(record)) continue;
    ++counts[record.verdict];
    ++left_out;
  }
  std::string verdicts;
  for (const auto& [verdict, count] : counts) {
    verdicts += fmt::format("{} {} {}", verdicts.empty() ? "" : ",", count, word_of(verdict));
  }
  if (left_out == 0) return "";
  return fmt::format("{} of {} records left out, which did not pass:{}", left_out, records.size(), verdicts);
}

struct OfPlatform {
  Platform platform;
  std::set<std::string> kernels;
};

std::map<std::string, OfPlatform> by_platform(const KernelPlatforms& platforms) {
  std::map<std::string, OfPlatform> all;
  for (const auto& [kernel, platform] : platforms) {
    OfPlatform& one = all[platform.key()];
    one.platform = platform;
    one.kernels.insert(kernel);
  }
  return all;
}

std::vector<Record> records_of(const std::vector<Record>& records, const std::set<std::string>& kernels) {
  std::vector<Record> theirs;
  for (const Record& record : records) {
    if (kernels.contains(record.op + "/" + record.kernel)) theirs.push_back(record);
  }
  return theirs;
}

// What the goldens of a run's platforms say, and the run does not; empty: it says something of all that it judged.
std::string not_compared(const std::vector<Record>& records, const ObservedGoldens& goldens) {
  size_t lost = 0;
  std::string such;
  for (const Record& record : records) {
    if (is_approvable(record) || goldens.find(record).line == nullptr) continue;
    if (lost++ == 0) such = fmt::format("{}: {}", record.kernel_id, word_of(record.verdict));
  }
  if (lost > 0) return fmt::format("{} approved cases did not pass, such as {}", lost, such);
  return std::ranges::none_of(records, is_approvable) ? "no record passed: nothing was compared" : "";
}

// Likewise of the fingerprints that a gate takes from tier ci on, of every kernel that it judges by that tier's cases.
std::string not_fingerprinted(const Run& run, const std::vector<Record>& records,
                              const std::vector<Fingerprint>& fingerprints, const FingerprintGoldens& goldens) {
  if (run.asked.command != "gate" || run.asked.tier == name_of(Tier::smoke)) return "";
  std::set<std::string> kernels, read;
  for (const Record& record : records) kernels.insert(record.op + "/" + record.kernel);
  for (const LeftOut& one : run.left_out) kernels.erase(one.kernel);
  for (const Fingerprint& one : fingerprints) {
    if (one.complete) read.insert(one.id());
  }
  size_t lost = 0;
  std::string such;
  for (const std::string& kernel : kernels) {
    for (const std::string& id : goldens.approved_of(kernel)) {
      if (!read.contains(id) && lost++ == 0) such = id;
    }
  }
  return lost == 0 ? "" : fmt::format("{} approved fingerprints were not read, such as {}", lost, such);
}

struct Found {
  std::vector<GoldenChange> changes;
  std::string not_compared;  // with what is approved, and why; empty: all was
};

Found observed_changes(const Options& options, const std::filesystem::path& folder) {
  if (!options.filters.empty()) throw UsageError("golden --run: takes the run as it is; filter when running it");
  const Run run = read_run(options.run_folder);
  if (!run.exit_code) throw UsageError(options.run_folder.string() + ": is not finished; resume it first");
  const auto fact = [&](const char* name) -> std::string {
    const auto found = run.environment.find(name);
    if (found == run.environment.end()) {
      throw UsageError(options.run_folder.string() + "/run.json: environment: has no '" + name + "'; run again");
    }
    return found->second;
  };
  if (run.asked.tier == kFuzzTier) return {found_changes(options, folder), ""};
  const std::vector<Fingerprint> fingerprints = read_fingerprints(options.run_folder);
  const std::vector<Record> records = read_records(options.run_folder);
  require_whole(options.run_folder, run, records);
  const PinLabel label = label_of(environment_of(run), source_root(options) / "ci" / "pins");
  fmt::print("environment of the run: {}\n", label_text(label));
  if (options.subcommand == "update") require_pinned(label, "golden update", options.unpinned);
  const std::string unpinned = unpinned_text(label);
  const LibrariesByKernel brought = brought_libraries(run, records);
  KernelPlatforms platforms;
  std::string others;
  bool is_any_judged = false;  // of those
  for (const KernelEntry& kernel : run.kernels) {
    const std::string id = kernel.op + "/" + kernel.name;
    const Platform platform{fact(isa_fact(kernel.target)), run.threads, brought.at(id)};
    if (platform.key() == kernel.platform) {
      platforms[id] = platform;
    } else {
      others += (others.empty() ? "" : ", ") + id;
      is_any_judged = is_any_judged || !records_of(records, {id}).empty();
    }
  }
  if (!others.empty()) {
    others = "left out, because run.json does not list the libraries they were judged by: " + others;
    fmt::print("{}\n", others);
  }
  const Extent extent = others.empty() ? extent_of(run) : Extent::partial;
  if (platforms.empty()) throw UsageError(options.run_folder.string() + ": nothing in it can be approved");
  const std::string left_out = not_passed_text(records);
  if (!left_out.empty()) fmt::print("{}\n", left_out);
  const Keys beyond = of_nightly_alone(options);
  std::vector<GoldenChange> changes;
  for (const auto& [key, of_platform] : by_platform(platforms)) {
    const std::vector<Record> theirs = records_of(records, of_platform.kernels);
    if (theirs.empty()) continue;  // kernels of another device than the run's
    for (GoldenChange& change : plan_observed_update(folder / "observed", of_platform.platform, observed_from(theirs),
                                                     extent, unpinned, beyond)) {
      changes.push_back(std::move(change));
    }
    std::vector<Fingerprint> of_kernels = fingerprints;
    std::erase_if(of_kernels,
                  [&](const Fingerprint& one) { return !of_platform.kernels.contains(one.op + "/" + one.kernel); });
    for (GoldenChange& change : plan_fingerprint_update(folder, of_platform.platform, of_kernels, extent, unpinned)) {
      changes.push_back(std::move(change));
    }
  }
  std::string missed;
  for (const std::string& why :
       {not_compared(records, ObservedGoldens::load(folder / "observed", platforms)),
        not_fingerprinted(run, records, fingerprints, FingerprintGoldens::load(folder / "fingerprint", platforms)),
        std::string(is_any_judged ? "not every kernel that was judged was compared" : "")}) {
    if (!why.empty()) missed += (missed.empty() ? "" : "\n") + why;
  }
  return {changes, missed};
}

std::vector<GoldenChange> contract_changes(const Options& options, const std::filesystem::path& folder) {
  if (!options.run_folder.empty() || !options.filters.empty()) {
    throw UsageError("golden --contracts: is of all kernels; leave --run and --filter out");
  }
  const OpRegistry ops = make_op_registry();
  const Loaded loaded = load_modules(judge_process(judge_settings(options)), module_files(options), ops);
  if (!loaded.broken.empty()) throw UsageError(loaded.broken.front());
  return plan_contracts_update(folder, loaded.kernels);
}

Found changes_of(const Options& options, const std::filesystem::path& folder) {
  if (!options.contracts && !options.run_folder.empty()) return observed_changes(options, folder);
  return {options.contracts ? contract_changes(options, folder) : truth_changes(options, folder), ""};
}

}  // namespace

int golden_command(const Options& options) {
  const std::filesystem::path folder = source_root(options) / "golden";
  const bool updates = options.subcommand == "update";
  if (updates && in_ci()) apply_changes({}, true);  // refuses before hours are spent
  const auto [changes, not_compared] = changes_of(options, folder);
  fmt::print("{}", diff_text(changes));
  if (!not_compared.empty()) fmt::print("{}\n", not_compared);
  const bool hold = changes.empty() && not_compared.empty();
  if (hold) fmt::print("the goldens hold\n");
  if (updates) apply_changes(changes, in_ci());
  return options.subcommand == "verify" && !hold ? 1 : 0;
}

}  // namespace assay
