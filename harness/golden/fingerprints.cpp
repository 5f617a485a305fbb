#include "golden/fingerprints.h"

#include <sstream>

#include "check/fingerprint.h"

namespace assay {
namespace {

std::string print_facts(const std::vector<Fact>& facts) {
  std::string line;
  for (const Fact& fact : facts) {
    line += line.empty() ? "" : " ";
    line += fact.value.empty() ? fact.name + "?=" + escaped(fact.why) : fact.name + "=" + escaped(fact.value);
  }
  return line;
}

bool parse_facts(const std::string& line, std::vector<Fact>& facts) {
  std::istringstream in(line);
  for (std::string word; in >> word;) {
    const size_t equals = word.find('=');
    if (equals == std::string::npos || equals + 1 == word.size()) return false;
    Fact fact{.name = word.substr(0, equals), .value = ""};
    const bool unknown = fact.name.ends_with('?');
    if (unknown) fact.name.pop_back();
    if (fact.name.empty() || !unescape(word.substr(equals + 1), unknown ? fact.why : fact.value)) return false;
    facts.push_back(std::move(fact));
  }
  return !facts.empty();
}

}  // namespace

FingerprintGoldens FingerprintGoldens::load(const std::filesystem::path& folder, const KernelPlatforms& platforms) {
  FingerprintGoldens goldens;
  std::map<std::filesystem::path, GoldenFile> files;
  for (const auto& [kernel, platform] : platforms) {
    const std::filesystem::path path = folder / platform.key() / (kernel.substr(0, kernel.find('/')) + ".txt");
    if (!has_golden_file(path)) continue;
    const auto [file, is_new] = files.try_emplace(path);
    if (is_new) file->second = read_golden_file(path, "fingerprint");
    if (platform_facts(file->second) != platform.facts()) {
      reject_golden(path.string(), 2, "its '#' lines are not those of platform " + platform.key());
    }
    for (const auto& [key, line] : file->second.lines) {
      if (!key.starts_with(kernel + ":")) continue;
      std::vector<Fact> facts;
      if (!parse_facts(line, facts)) reject_golden(path.string(), key, "'" + line + "' is not a list of facts");
      goldens.lines_[key] = std::move(facts);
    }
  }
  return goldens;
}

void FingerprintGoldens::compare(Fingerprint& fingerprint) const {
  fingerprint.baseline = Baseline::none;
  fingerprint.changes.clear();
  const auto found = lines_.find(fingerprint.id());
  if (found == lines_.end()) return;
  fingerprint.changes = changed_facts(found->second, fingerprint.facts);
  fingerprint.baseline = fingerprint.changes.empty() ? Baseline::same : Baseline::changed;
}

std::vector<std::string> FingerprintGoldens::approved_of(const std::string& kernel) const {
  std::vector<std::string> ids;
  for (const auto& [id, facts] : lines_) {
    if (id.starts_with(kernel + ":")) ids.push_back(id);
  }
  return ids;
}

std::map<std::string, GoldenFile> fingerprint_files(std::span<const Fingerprint> fingerprints,
                                                    const Platform& platform) {
  std::map<std::string, GoldenFile> files;
  for (const Fingerprint& fingerprint : fingerprints) {
    if (!fingerprint.complete || fingerprint.facts.empty()) continue;
    GoldenFile& file = files[fingerprint.op];
    file.kind = "fingerprint";
    file.facts = platform.facts();
    file.lines[fingerprint.id()] = print_facts(fingerprint.facts);
  }
  return files;
}

}  // namespace assay
