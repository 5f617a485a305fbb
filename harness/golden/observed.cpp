#include "golden/observed.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <sstream>

#include "check/hash.h"
#include "core/case.h"
#include "core/error.h"
#include "core/number_text.h"

namespace assay {
namespace {

constexpr const char* kLate = "late";
constexpr const char* kUnpinned = "unpinned";

constexpr std::array<double SeedStatistics::*, 4> kNumbers{&SeedStatistics::misrounded,
                                                           &SeedStatistics::mean_signed_ulps, &SeedStatistics::rms_q,
                                                           &SeedStatistics::mean_signed_q};

template <class Number>
bool parse_number(std::string_view text, Number& value) {
  const std::optional<Number> number = number_of<Number>(text);
  if (number) value = *number;
  return number.has_value();
}

bool parse_seed(std::string_view name, std::string_view text, SeedStatistics& seed) {
  if (!parse_number(name, seed.seed)) return false;
  for (size_t i = 0; i < kNumbers.size(); ++i) {
    const size_t comma = text.find(',');
    if ((comma == std::string_view::npos) != (i + 1 == kNumbers.size())) return false;
    if (!parse_number(text.substr(0, comma), seed.*kNumbers[i]) || !std::isfinite(seed.*kNumbers[i])) return false;
    text = comma == std::string_view::npos ? "" : text.substr(comma + 1);
  }
  return true;
}

bool parse_observed(const std::string& line, Observed& observed) {
  std::istringstream in(line);
  for (std::string word; in >> word;) {
    const size_t equals = word.find('=');
    if (equals == std::string::npos) return false;
    const std::string_view name = std::string_view(word).substr(0, equals);
    const std::string_view value = std::string_view(word).substr(equals + 1);
    if (name == "bits") {
      if (!observed.bits.empty() || value.size() != 16) return false;
      if (!is_hexadecimal(value)) return false;
      observed.bits = value;
    } else if (name == "worst") {
      if (!observed.worst_input.empty() || value.empty() || value.size() > 16) return false;
      if (!is_hexadecimal(value)) return false;
      observed.worst_input = value;
    } else if (name == "workspace") {
      uint64_t bytes = 0;
      if (observed.resources.workspace || !parse_number(value, bytes)) return false;
      observed.resources.workspace = bytes;
    } else if (name == "kernels") {
      if (!observed.resources.kernels.empty() || !parse_kernels(value, observed.resources.kernels)) return false;
    } else if (name.starts_with("select.")) {
      std::string text;
      if (!unescape(value, text)) return false;
      if (!observed.selection.emplace(name.substr(7), text).second) return false;
    } else if (name.starts_with("seed.")) {
      SeedStatistics seed;
      if (!parse_seed(name.substr(5), value, seed)) return false;
      observed.seeds.push_back(seed);
    } else {
      return false;
    }
  }
  return !observed.bits.empty();
}

std::string print_observed(const Observed& observed) {
  std::string line = "bits=" + observed.bits;
  if (!observed.worst_input.empty()) line += " worst=" + observed.worst_input;
  for (const auto& [key, value] : observed.selection) line += " select." + key + "=" + escaped(value);
  if (observed.resources.workspace) line += fmt::format(" workspace={}", *observed.resources.workspace);
  if (!observed.resources.kernels.empty()) line += " kernels=" + print_kernels(observed.resources.kernels);
  for (const SeedStatistics& seed : observed.seeds) {
    line += fmt::format(" seed.{}=", seed.seed);
    for (size_t i = 0; i < kNumbers.size(); ++i) line += (i == 0 ? "" : ",") + print_number(seed.*kNumbers[i]);
  }
  return line;
}

std::vector<std::string> identities(const std::vector<LoadedLibrary>& libraries) {
  std::vector<std::string> all;
  for (const LoadedLibrary& library : libraries) all.push_back(identity(library));
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

// Of an identity(), the file's name as far as it says no version: "libopenblasp-r" of "libopenblasp-r0.3.21.so
// 5b7c...".
std::string name_in(const std::string& identity) { return identity.substr(0, identity.find_first_of(" 0123456789")); }

// Those of `by_key` and of platforms that differ from one of them in the hash of all that counts alone.
std::vector<std::filesystem::path> folders_of_like(const std::filesystem::path& folder,
                                                   const std::map<std::string, const Platform*>& by_key) {
  std::set<std::string> beginnings;
  for (const auto& [key, unused] : by_key) beginnings.insert(key.substr(0, key.rfind('-')));
  std::vector<std::filesystem::path> found;
  if (!std::filesystem::is_directory(folder)) return found;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename();
    if (beginnings.contains(name.substr(0, name.rfind('-')))) found.push_back(entry.path());
  }
  std::ranges::sort(found);
  return found;
}

// The widest vectors in a list of instruction sets; other texts as they are.
std::string word_for(const std::string& isa) {
  for (const auto& [set, word] :
       {std::pair{"amx_tile", "amx"}, {"avx512f", "avx512"}, {"avx2", "avx2"}, {"sse4_2", "sse4"}}) {
    if ((" " + isa + " ").find(" " + std::string(set) + " ") != std::string::npos) return word;
  }
  return isa;
}

}  // namespace

std::string Platform::key() const {
  Hasher hasher;
  for (const auto& [word, text] : facts()) hasher.add((word + " " + text).c_str(), word.size() + text.size() + 2);
  return file_word(fmt::format("{}-t{}-{:08x}", word_for(isa), threads, hasher.digest() >> 32));
}

std::vector<std::pair<std::string, std::string>> Platform::facts() const {
  std::vector<std::pair<std::string, std::string>> all{{"isa", isa}, {"threads", std::to_string(threads)}};
  for (const std::string& library : identities(libraries)) all.emplace_back("library", library);
  return all;
}

const char* isa_fact(std::string_view target) { return target == "cpu" ? "cpu.instruction_sets" : "gpu.model"; }

std::string file_word(std::string text) {
  for (char& c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-';
    if (!plain) c = '_';
  }
  return text;
}

bool is_selection(std::string_view key) {
  static constexpr std::array<std::string_view, 8> kKeys{"algorithm", "isa",       "tile",   "stages",
                                                         "split_k",   "reduction", "chosen", "fallback"};
  return std::find(kKeys.begin(), kKeys.end(), key) != kKeys.end();
}

Observed observed_of(const Record& record) {
  Observed observed{.bits = record.output_hash,
                    .worst_input = record.worst_input,
                    .seeds = record.seeds,
                    .resources = resources_of(record)};
  for (const auto& [key, value] : record.selection) {
    if (is_selection(key)) observed.selection[key] = value;
  }
  return observed;
}

ObservedFile observed_file_from(const GoldenFile& file, const std::string& name) {
  ObservedFile result;
  for (const auto& [key, line] : file.lines) {
    Observed observed;
    if (!parse_observed(line, observed)) reject_golden(name, key, "'" + line + "' is not an observation");
    result.lines.emplace_hint(result.lines.end(), key, std::move(observed));
  }
  for (const auto& [word, text] : file.facts) {
    if (word != kLate) continue;
    const size_t space = text.find(' ');
    const std::string kernel = text.substr(0, space);
    const auto line = result.lines.lower_bound(kernel + ":");
    const bool has_lines = line != result.lines.end() && line->first.starts_with(kernel + ":");
    if (space == std::string::npos || space + 1 == text.size() || !has_lines) {
      reject_golden(name, "# late " + text, "is no kernel with lines here and a library");
    }
    result.late[kernel].insert(text.substr(space + 1));
  }
  return result;
}

GoldenFile to_golden_file(const ObservedFile& observed, const Platform& platform) {
  GoldenFile file{.kind = "observed", .facts = platform.facts()};
  for (const auto& [kernel, libraries] : observed.late) {
    for (const std::string& library : libraries) file.facts.emplace_back(kLate, kernel + " " + library);
  }
  for (const auto& [key, value] : observed.lines) file.lines[key] = print_observed(value);
  return file;
}

void mark_unpinned(GoldenFile& file, const std::string& why) {
  if (!why.empty()) file.facts.emplace_back(kUnpinned, why);
}

std::string unpinned_mark(const GoldenFile& file) { return file.fact(kUnpinned); }

std::vector<std::pair<std::string, std::string>> platform_facts(const GoldenFile& file) {
  std::vector<std::pair<std::string, std::string>> facts = file.facts;
  std::erase_if(facts, [](const auto& fact) { return fact.first == kLate || fact.first == kUnpinned; });
  return facts;
}

bool is_approvable(const Record& record) {
  return (record.verdict == Verdict::pass || record.verdict == Verdict::changed) && !record.output_hash.empty();
}

std::map<std::string, ObservedFile> observed_from(std::span<const Record> records) {
  std::map<std::string, ObservedFile> files;
  for (const Record& record : records) {
    if (!is_approvable(record)) continue;
    if (record.output_hash.size() != 16 || !is_hexadecimal(record.output_hash)) {
      throw UsageError("record of " + record.kernel_id + ": output_hash '" + record.output_hash +
                       "' is not 16 hexadecimal digits; judge the case again");
    }
    if (!record.kernel_id.starts_with(record.op + "/" + record.kernel + ":")) {
      throw UsageError("record of " + record.op + "/" + record.kernel + ": kernel_id '" + record.kernel_id +
                       "' is of another kernel or none; judge the case again");
    }
    ObservedFile& file = files[record.op];
    file.lines[record.kernel_id] = observed_of(record);
    if (record.late_libraries.empty()) continue;
    file.late[record.op + "/" + record.kernel].insert(record.late_libraries.begin(), record.late_libraries.end());
  }
  return files;
}

ObservedGoldens ObservedGoldens::load(const std::filesystem::path& folder, const KernelPlatforms& platforms) {
  std::map<std::string, const Platform*> by_key;
  for (const auto& [kernel, platform] : platforms) by_key[platform.key()] = &platform;
  ObservedGoldens goldens;
  for (const auto& [key, platform] : by_key) {
    for (const auto& file : golden_files_in(folder / key)) goldens.add(file, *platform, platforms);
  }
  for (const std::filesystem::path& other : folders_of_like(folder, by_key)) {
    for (const auto& file : golden_files_in(other)) goldens.note_others(file, platforms);
  }
  return goldens;
}

void ObservedGoldens::note_others(const std::filesystem::path& path, const KernelPlatforms& platforms) {
  const GoldenFile file = read_golden_file(path, "observed");
  std::map<std::string, std::string> builds;  // by name, of every kernel here
  for (const auto& [unused, platform] : platforms) {
    for (const std::string& library : identities(platform.libraries)) builds[name_in(library)] = library;
  }
  std::vector<std::string> libraries;
  for (const auto& [word, text] : platform_facts(file)) {
    if (word != "library") continue;
    const auto here = builds.find(name_in(text));
    if (here != builds.end() && here->second != text) return;  // the machine's is another
    libraries.push_back(text);
  }
  for (const auto& [line, unused] : file.lines) {
    const std::string kernel = line.substr(0, line.find(':'));
    const auto found = platforms.find(kernel);
    if (found == platforms.end() || file.fact("isa") != found->second.isa ||
        file.fact("threads") != std::to_string(found->second.threads)) {
      continue;
    }
    const auto own = lines_.lower_bound(kernel + ":");
    if (own != lines_.end() && own->first.starts_with(kernel + ":")) continue;
    approved_with_[kernel] = fmt::format("{}", fmt::join(libraries, ", "));
  }
}

void ObservedGoldens::add(const std::filesystem::path& path, const Platform& platform,
                          const KernelPlatforms& platforms) {
  const GoldenFile file = read_golden_file(path, "observed");
  if (platform_facts(file) != platform.facts()) {
    reject_golden(path.string(), 2, "its '#' lines are not those of platform " + platform.key());
  }
  const auto is_of_platform = [&](std::string_view kernel) {
    const auto found = platforms.find(kernel);
    return found != platforms.end() && found->second.facts() == platform.facts();
  };
  ObservedFile content = observed_file_from(file, path.string());
  for (auto& [key, observed] : content.lines) {
    if (!key.starts_with(path.stem().string() + "/")) reject_golden(path.string(), key, "not a kernel of this op");
    if (is_of_platform(std::string_view(key).substr(0, key.find(':')))) lines_[key] = std::move(observed);
  }
  for (auto& [kernel, libraries] : content.late) {
    if (is_of_platform(kernel)) late_[kernel] = std::move(libraries);
  }
}

Approval ObservedGoldens::find(const Record& record) const {
  const auto found = lines_.find(record.kernel_id);
  if (found == lines_.end()) return {};
  const auto late = late_.find(record.op + "/" + record.kernel);
  for (const std::string& library : record.late_libraries) {
    if (late != late_.end() && late->second.contains(library)) continue;
    return {&found->second, library};
  }
  return {&found->second, ""};
}

std::string Approval::why_not() const {
  if (line == nullptr) return "nothing approved for this platform";
  if (new_library.empty()) return "";
  return "nothing approved with " + new_library + ", which was loaded after the module";
}

}  // namespace assay
