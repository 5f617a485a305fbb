#include "cli/paths.h"

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <fstream>

#include "cli/canary_sets.h"
#include "cli/interrupt.h"
#include "core/error.h"
#include "gate/program.h"
#include "worker/sanitized.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

fs::path program_folder() { return fs::read_symlink("/proc/self/exe").parent_path(); }

fs::path own_modules() { return build_folder() / "modules"; }

fs::path modules_folder(const Options& options) {
  if (!options.modules_folder.empty()) return options.modules_folder;
  const char* variable = std::getenv("ASSAY_MODULES");
  return variable != nullptr && *variable != '\0' ? fs::path(variable) : own_modules();
}

// $XDG_CACHE_HOME/assay/oracle, else ~/.cache/assay/oracle; none without either.
fs::path oracle_cache() {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  if (cache != nullptr && *cache == '/') return fs::path(cache) / "assay" / "oracle";
  const char* home = std::getenv("HOME");
  return home != nullptr && *home == '/' ? fs::path(home) / ".cache" / "assay" / "oracle" : fs::path();
}

}  // namespace

fs::path build_folder() { return program_folder().parent_path(); }

fs::path program(const char* name) {
  const fs::path file = program_folder() / name;
  std::error_code error;
  if (!fs::exists(file, error)) {
    throw UsageError(file.string() + ": is missing; it is built with assay and must lie beside it");
  }
  return file;
}

fs::path source_root(const Options& options) {
  const fs::path root = options.root.empty() ? fs::path(ASSAY_SOURCE_DIR) : fs::absolute(options.root);
  std::error_code error;
  if (!fs::exists(root / "ci" / "policy", error)) {
    throw UsageError("--root " + root.string() + ": has no ci/policy; give the source tree of assay");
  }
  return root;
}

std::string root_argument(const Options& options) {
  return options.root.empty() ? "" : " --root " + shell_word(options.root.string());
}

OutFolder::OutFolder(const fs::path& given, const fs::path& root, const std::string& before, const std::string& after)
    : path_(given), is_made_(given.empty()) {
  if (!is_made_) return;
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  ::gmtime_r(&now, &utc);
  char text[32];
  std::strftime(text, sizeof text, "%Y%m%dT%H%M%SZ", &utc);
  const fs::path first = root / "runs" / (before + text + after);
  path_ = first;
  std::error_code error;
  fs::create_directories(path_.parent_path(), error);
  for (int i = 2; !error && !fs::create_directory(path_, error); ++i) path_ = first.string() + "." + std::to_string(i);
  if (error) throw UsageError(path_.string() + ": cannot be made: " + error.message() + "; name a folder by --out");
}

OutFolder::~OutFolder() {
  std::error_code not_empty;
  if (is_made_) fs::remove(path_, not_empty);
}

std::vector<fs::path> module_files(const Options& options) {
  std::vector<fs::path> files;
  for (const fs::path& file : options.modules) files.push_back(fs::absolute(file).lexically_normal());
  if (!files.empty()) return files;
  const fs::path folder = fs::absolute(modules_folder(options)).lexically_normal();
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    if (entry->path().extension() == ".so") files.push_back(entry->path());
  }
  if (error) throw UsageError("modules folder " + folder.string() + ": " + error.message() + "; give --modules DIR");
  if (files.empty()) throw UsageError("modules folder " + folder.string() + ": holds no *.so; build the kernels first");
  std::sort(files.begin(), files.end());
  return files;
}

std::vector<fs::path> own_library_path() {
  std::vector<fs::path> folders;
  std::ifstream in(build_folder() / "library_path.txt");
  for (std::string line; std::getline(in, line);) {
    if (!line.empty()) folders.emplace_back(line);
  }
  return folders;
}

bool judges_own_modules(const Options& options) {
  std::error_code error;
  return options.modules.empty() && fs::equivalent(modules_folder(options), own_modules(), error);
}

JudgeSettings judge_settings(const Options& options) {
  JudgeSettings settings;
  settings.judge_program = program("assay-judge");
  settings.worker_program = program("assay-worker");
  settings.library_path = own_library_path();
  if (options.fuzz.empty()) settings.oracle_cache = oracle_cache();  // nobody asks for a drawn case again
  settings.device = device_named(options.device);
  if (!options.sanitizer.empty()) {
    settings.sanitizer = sanitizer_named(options.sanitizer);
    settings.sanitizer_program = find_compute_sanitizer();
  }
  settings.threads = options.threads;
  settings.stop_asked = [] { return interrupt_signal() != 0; };
  settings.library_set = library_set_asked_for(options);
  return settings;
}

}  // namespace assay
