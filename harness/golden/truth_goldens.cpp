#include "golden/truth_goldens.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "check/element_runs.h"
#include "core/error.h"
#include "core/number_text.h"
#include "golden/filled_case.h"

namespace assay {
namespace {

bool parse_named_count(std::string_view word, std::string_view name, int64_t& value) {
  return word.starts_with(name) && parse_count(word.substr(name.size()), value);
}

bool parse_sample(std::string_view word) {
  const size_t colon = word.find(':');
  int64_t index = 0;
  return colon != std::string_view::npos && parse_count(word.substr(0, colon), index) &&
         is_hexadecimal(word.substr(colon + 1));
}

bool parse_truth(const std::string& line, Truth& truth) {
  std::istringstream in(line);
  std::string elements, straddling;
  if (!(in >> truth.hash >> elements >> straddling)) return false;
  if (truth.hash.size() != 16 || !is_hexadecimal(truth.hash)) return false;
  if (!parse_named_count(elements, "elements=", truth.elements)) return false;
  if (!parse_named_count(straddling, "straddling=", truth.straddling)) return false;
  for (std::string sample; in >> sample;) {
    if (!parse_sample(sample) || truth.samples.size() == 3) return false;
    truth.samples.push_back(sample);
  }
  return true;
}

std::string print_truth(const Truth& truth) {
  std::string line = fmt::format("{} elements={} straddling={}", truth.hash, truth.elements, truth.straddling);
  for (const std::string& sample : truth.samples) line += " " + sample;
  return line;
}

}  // namespace

std::string truth_key(std::string_view id) {
  const ParsedId parsed = parse_id(id);
  std::string key = parsed.op + ":";
  for (const auto& [name, text] : parsed.fields) {
    if (name == "offset" || name == "place") continue;
    key += (key.back() == ':' ? "" : ",") + name + "=" + text;
  }
  return key;
}

TruthFile truth_file_from(const GoldenFile& file, const std::string& name) {
  TruthFile result;
  int64_t version = 0;
  if (file.facts.size() != 1 || !parse_count(file.fact("oracle"), version) || version > 1'000'000) {
    reject_golden(name, 2, "the second line must be '# oracle VERSION', and the only one of its kind");
  }
  result.oracle_version = static_cast<int>(version);
  for (const auto& [key, line] : file.lines) {
    Truth truth;
    if (!parse_truth(line, truth)) reject_golden(name, key, "'" + line + "' is not a truth");
    result.cases.emplace_hint(result.cases.end(), key, std::move(truth));
  }
  return result;
}

GoldenFile to_golden_file(const TruthFile& truth) {
  GoldenFile file{.kind = "truth", .facts = {{"oracle", std::to_string(truth.oracle_version)}}};
  for (const auto& [key, value] : truth.cases) file.lines[key] = print_truth(value);
  return file;
}

TruthGoldens TruthGoldens::load(const std::filesystem::path& folder, const OpRegistry& ops) {
  TruthGoldens goldens;
  for (const auto& op : ops.all()) {
    const std::filesystem::path path = folder / (std::string(op->name()) + ".txt");
    if (!has_golden_file(path)) continue;
    OfOp entry{truth_file_from(read_golden_file(path, "truth"), path.string()), op->oracle_version()};
    for (const auto& [key, truth] : entry.file.cases) {
      if (!key.starts_with(std::string(op->name()) + ":")) reject_golden(path.string(), key, "not a case of this op");
    }
    goldens.ops_[std::string(op->name())] = std::move(entry);
  }
  return goldens;
}

TruthGoldens::Found TruthGoldens::find(std::string_view kernel_id) const {
  const std::string key = truth_key(kernel_id);
  const auto op = ops_.find(std::string_view(key).substr(0, key.find(':')));
  if (op == ops_.end()) return {nullptr, "the op has no truth golden; run 'assay golden update'"};
  if (op->second.file.oracle_version != op->second.build_version) {
    return {nullptr, fmt::format("the golden is of oracle version {}, this build has {}; run 'assay golden update'",
                                 op->second.file.oracle_version, op->second.build_version)};
  }
  const auto found = op->second.file.cases.find(key);
  if (found == op->second.file.cases.end()) return {nullptr, "no truth golden of this case"};
  return {&found->second, ""};
}

Truth compute_truth(const Op& op, const Case& c, int threads) {
  TruthBuilder builder(is_sweep(op.tensors(c)));
  for (int64_t i = 0; i < c.integer("seeds"); ++i) {
    const int64_t seed = c.integer("seed") + i;
    const FilledCase filled(op, c, static_cast<uint64_t>(seed), threads);
    const std::vector<TensorView> views = filled.views();
    const auto output =
        std::find_if(views.begin(), views.end(), [](const TensorView& v) { return v.spec->role != Role::input; });
    if (const auto runs = is_packed(*output->spec) ? op.element_oracle(c, Contract{}, views) : nullptr) {
      add_truth_of_runs(*output->spec, *runs, threads, builder);
      continue;
    }
    for (const Reference& reference : op.oracle(c, views, threads)) builder.add(reference);
  }
  return builder.finish();
}

std::map<std::string, TruthFile> compute_truths(const OpRegistry& ops, std::span<const Case> cases, int threads,
                                                const std::function<void(const TruthProgress&)>& progress) {
  std::map<std::string, TruthFile> files;
  for (const auto& op : ops.all()) files[std::string(op->name())].oracle_version = op->oracle_version();
  std::map<std::string, const Case*> by_key;  // cases that differ in placement are one
  for (const Case& c : cases) by_key.try_emplace(truth_key(c.id()), &c);
  TruthProgress at{.total = by_key.size()};
  for (const auto& [key, c] : by_key) {
    at.next = key;
    if (progress) progress(at);
    files[std::string(c->op())].cases[key] = compute_truth(ops.named(c->op()), *c, threads);
    ++at.done;
  }
  return files;
}

}  // namespace assay
