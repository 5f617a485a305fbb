// fingerprint: how kernels compute, as the answers to their ops' probes tell.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <set>

#include "check/fingerprint.h"
#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/job.h"
#include "cli/loaded.h"
#include "cli/paths.h"
#include "cli/progress.h"
#include "cli/trees.h"
#include "core/error.h"
#include "gate/filter.h"
#include "gate/fingerprints.h"
#include "record/fingerprint.h"
#include "record/json_text.h"
#include "record/verdict.h"
#include "reference/math/tensor_unit.h"

namespace assay {
namespace {

// What is published of units for this variant's dtype, each beside what was found.
std::vector<std::pair<const DocumentedUnit*, bool>> documented_for(const Fingerprint& fingerprint) {
  std::vector<std::pair<const DocumentedUnit*, bool>> all;
  const Fact* found = fingerprint.find("unit");
  if (found == nullptr) return all;
  const bool is_fp8 = fingerprint.variant.ends_with("dtype=e4m3");
  for (const DocumentedUnit& unit : kDocumentedUnits) {
    if (is_fp8 != (unit.bits == 8) || (unit.bits == 32) != fingerprint.variant.ends_with("dtype=f32")) continue;
    all.emplace_back(&unit, found->value == unit_text(unit.terms, unit.fraction, unit.precision));
  }
  return all;
}

void print_fingerprint(const Fingerprint& fingerprint, const Palette& palette) {
  fmt::print("{}{}{}  {:.2f} s, {}\n", palette.bold, fingerprint.id(), palette.end, fingerprint.seconds,
             fingerprint.baseline == Baseline::none ? "nobody approved one" : word_of(fingerprint.baseline));
  for (const Fact& fact : fingerprint.facts) {
    if (fact.value.empty()) {
      fmt::print("  {:<18}{}unknown: {}{}\n", fact.name, palette.dull, fact.why, palette.end);
    } else {
      fmt::print("  {:<18}{}\n", fact.name, fact.value);
    }
  }
  for (const auto& [unit, same] : documented_for(fingerprint)) {
    fmt::print("  {:<18}{} {} ({}): {}\n", "documented", unit_text(unit->terms, unit->fraction, unit->precision),
               unit->name, unit->source, same ? "this one" : "another");
  }
  for (const std::string& change : fingerprint.changes) {
    fmt::print("  {}changed{}           {}\n", palette.bad, palette.end, change);
  }
}

// Each of them an id that repro takes.
void print_probes(const Op& op, const Fingerprint& fingerprint) {
  for (const ProbeSet& set : op.probes()) {
    if (set.variant != fingerprint.variant) continue;
    for (const Probe& probe : set.probes) fmt::print("  {:<18}{}\n", "probe", probe.c.kernel_id(fingerprint.kernel));
  }
}

nlohmann::json document_of(const Fingerprint& fingerprint) {
  nlohmann::json document = to_json(fingerprint);
  document["id"] = fingerprint.id();
  document["documented"] = nlohmann::json::array();
  for (const auto& [unit, same] : documented_for(fingerprint)) {
    document["documented"].push_back({{"unit", unit_text(unit->terms, unit->fraction, unit->precision)},
                                      {"name", unit->name},
                                      {"source", unit->source},
                                      {"found", same}});
  }
  return document;
}

bool selects(const Filter& filter, const KernelInfo& kernel, const ProbeSet& set) {
  return std::any_of(set.probes.begin(), set.probes.end(),
                     [&](const Probe& probe) { return filter.matches(kernel, probe.c); });
}

bool is_wanted(const std::vector<Filter>& filters, const KernelInfo& kernel, const ProbeSet& set) {
  const auto matches = [&](const Filter& filter) { return selects(filter, kernel, set); };
  return filters.empty() || std::any_of(filters.begin(), filters.end(), matches);
}

void require_probes_of_each(const std::vector<Filter>& filters, const std::vector<KernelInfo>& kernels,
                            const OpRegistry& ops, const std::string& device) {
  for (const Filter& filter : filters) {
    const bool has_some = std::any_of(kernels.begin(), kernels.end(), [&](const KernelInfo& kernel) {
      const std::vector<ProbeSet> sets = ops.named(kernel.op).probes();
      return std::any_of(sets.begin(), sets.end(), [&](const ProbeSet& set) { return selects(filter, kernel, set); });
    });
    if (has_some) continue;
    throw UsageError("fingerprint: '" + filter.text() + "': no kernel of device " + device +
                     " has probes of this; 'assay list' shows what there is");
  }
}

// Of an id, everything told as one text: what another process has to tell as well.
std::map<std::string, std::vector<Fact>> facts_by_id(const std::vector<Fingerprint>& all) {
  std::map<std::string, std::vector<Fact>> facts;
  for (const Fingerprint& fingerprint : all) facts[fingerprint.id()] = fingerprint.facts;
  return facts;
}

// "gemm/simd:dtype=f32: order: ... -> ..." for whatever the two do not agree in.
std::vector<std::string> disagreements(const std::vector<Fingerprint>& first, const std::vector<Fingerprint>& other) {
  std::vector<std::string> all;
  auto before = facts_by_id(first), now = facts_by_id(other);
  for (const auto& [id, unused] : now) before.try_emplace(id);
  for (const auto& [id, facts] : before) {
    for (const std::string& change : changed_facts(facts, now[id])) all.push_back(id + ": " + change);
  }
  return all;
}

}  // namespace

int fingerprint_command(const Options& options) {
  note_interrupts();
  const Trees trees = find_trees(options);
  const OpRegistry ops = make_op_registry();
  const Loaded loaded = load_modules(judge_process(limited(judge_settings(options), read_policy(trees.policy()))),
                                     module_files(options), ops);
  const std::vector<Filter> filters = among(loaded, [&] { return filters_of(options.filters, ops, loaded.kernels); });
  const FingerprintGoldens goldens =
      FingerprintGoldens::load(trees.golden() / "fingerprint", platforms_of(options, loaded));
  FingerprintJob job;
  for (const KernelInfo& kernel : loaded.kernels) {
    if (kernel.target == options.device) job.kernels.push_back(kernel);
  }
  require_probes_of_each(filters, job.kernels, ops, options.device);
  job.ops = &ops;
  job.start_judge = loaded.start_judge;
  job.fresh = options.repeat > 1;
  job.wanted = [&](const KernelInfo& kernel, const ProbeSet& set) { return is_wanted(filters, kernel, set); };
  job.stop_asked = [] { return interrupt_signal() != 0; };

  const Palette palette = palette_for(stdout);
  std::vector<Fingerprint> first;
  job.each = [&](Fingerprint fingerprint) {
    goldens.compare(fingerprint);
    if (!options.json) print_fingerprint(fingerprint, palette);
    if (options.explain && !options.json) print_probes(ops.named(fingerprint.op), fingerprint);
    std::fflush(stdout);
    first.push_back(std::move(fingerprint));
  };
  if (!take_fingerprints(job)) return 128 + interrupt_signal();
  if (first.empty()) {
    throw UsageError("fingerprint: no kernel of device " + options.device +
                     " answers the probes of what was asked for; 'assay list' shows what there is");
  }

  std::set<std::string> differing;
  for (int i = 1; i < options.repeat; ++i) {
    std::vector<Fingerprint> again;
    job.each = [&](Fingerprint fingerprint) { again.push_back(std::move(fingerprint)); };
    if (!take_fingerprints(job)) return 128 + interrupt_signal();
    for (const std::string& one : disagreements(first, again)) {
      if (differing.insert(one).second) fmt::print(stderr, "assay: nondeterministic: process {}: {}\n", i + 1, one);
    }
  }
  const bool all_answered = std::all_of(first.begin(), first.end(), [](const auto& f) { return f.complete; });
  if (options.json) {
    nlohmann::json list = nlohmann::json::array();
    for (const Fingerprint& fingerprint : first) list.push_back(document_of(fingerprint));
    fmt::print("{}\n",
               print_json({{"fingerprints", list}, {"processes", options.repeat}, {"stable", differing.empty()}}, 1));
  } else {
    fmt::print("{}\n", fingerprints_text(first));
    if (options.repeat > 1) {
      fmt::print("{} processes: {}\n", options.repeat,
                 differing.empty() ? "the same in each" : fmt::format("{} facts differ", differing.size()));
    }
  }
  return combine_exit_codes(differing.empty() && all_answered ? 0 : 1, tell_broken(loaded));
}

}  // namespace assay
