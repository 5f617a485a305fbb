#include "gate/goldens.h"

#include <algorithm>
#include <array>
#include <set>

#include "core/error.h"
#include "golden/apply.h"
#include "golden/file.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

// Golden files of one kind below a folder that may be absent.
std::vector<fs::path> golden_files(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code error;
  for (fs::recursive_directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    if (entry->is_regular_file() && entry->path().extension() == ".txt") files.push_back(entry->path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

bool computes_nothing(std::string_view file_name) {
  // The NVIDIA driver's own (libcuda, libnvidia-*) come with the first launch; its version is a fact of the run.
  static constexpr std::array<std::string_view, 10> kNames{"ld-linux",     "libc.so",     "libgcc_s.", "libstdc++",
                                                           "libbenchmark", "libpthread.", "libdl.",    "libfmt.",
                                                           "libcuda.so",   "libnvidia-"};
  return std::any_of(kNames.begin(), kNames.end(), [&](std::string_view name) { return file_name.starts_with(name); });
}

std::vector<LoadedLibrary> computing_libraries(const std::vector<LoadedLibrary>& loaded, const std::string& module) {
  std::vector<LoadedLibrary> libraries;
  for (const LoadedLibrary& library : loaded) {
    const std::string name = fs::path(library.path).filename().string();
    const bool mapped = std::find(library.modules.begin(), library.modules.end(), module) != library.modules.end();
    if (mapped && name != module && !computes_nothing(name)) libraries.push_back(library);
  }
  return libraries;
}

Goldens::Goldens(const fs::path& folder, const OpRegistry& ops, const KernelPlatforms& platforms)
    : folder_(folder),
      truth_(TruthGoldens::load(folder / "truth", ops)),
      observed_(ObservedGoldens::load(folder / "observed", platforms)) {}

void Goldens::require_truth(const std::set<std::string>& ops) const {
  for (const std::string& op : ops) {
    if (truth_.has(op)) continue;
    throw UsageError((folder_ / "truth" / (op + ".txt")).string() +
                     ": is missing, and nothing else guards the oracle of " + op +
                     "; restore it, or run 'assay golden update --filter " + op + "'");
  }
}

void Goldens::apply(const KernelInfo& kernel, Record& record) const {
  apply_goldens(record, truth_, &observed_, kernel.contract.promises);
}

std::vector<std::string> golden_cases(const fs::path& folder) {
  std::vector<std::string> cases;
  for (const fs::path& file : golden_files(folder / "truth")) {
    for (const auto& [id, unused] : read_golden_file(file, "truth").lines) cases.push_back(id);
  }
  return cases;
}

std::vector<std::string> golden_kernels(const fs::path& folder) {
  std::set<std::string> kernels;
  for (const fs::path& file : golden_files(folder / "observed")) {
    for (const auto& [id, unused] : read_golden_file(file, "observed").lines)
      kernels.insert(id.substr(0, id.find(':')));
  }
  return {kernels.begin(), kernels.end()};
}

}  // namespace assay
