#include "gate/arms.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <set>
#include <string_view>

#include "core/error.h"
#include "gate/program.h"
#include "load/elf.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

// Names, or what names begin with ('*'), of functions that bring in what is not in the module: the environment, what
// the file system holds, other programs, code. std::ifstream is one or another of its parts, as it was inlined.
constexpr std::string_view kReaders[] = {"getenv",
                                         "secure_getenv",
                                         "environ",
                                         "__environ",
                                         "_gfortran_get_environment_variable*",
                                         "open",
                                         "open64",
                                         "__open*",
                                         "openat*",
                                         "fopen*",
                                         "freopen*",
                                         "shm_open",
                                         "syscall",
                                         "socket",
                                         "_gfortran_st_open",
                                         "_ZNSt13basic_filebuf*",
                                         "_ZNSt13basic_fstream*",
                                         "_ZNSt14basic_ifstream*",
                                         "opendir",
                                         "scandir*",
                                         "glob",
                                         "glob64",
                                         "ftw*",
                                         "nftw*",
                                         "fts_open*",
                                         "stat",
                                         "stat64",
                                         "statx",
                                         "lstat*",
                                         "fstatat*",
                                         "__xstat*",
                                         "__lxstat*",
                                         "__fxstatat*",
                                         "access",
                                         "faccessat",
                                         "readlink*",
                                         "realpath",
                                         "__realpath*",
                                         "_ZNSt10filesystem*",
                                         "_ZNKSt10filesystem*",
                                         "popen",
                                         "system",
                                         "wordexp",
                                         "fork",
                                         "vfork",
                                         "execl*",
                                         "execv*",
                                         "fexecve",
                                         "posix_spawn*",
                                         "dlopen",
                                         "dlmopen",
                                         "dlsym",
                                         "dlvsym",
                                         "nvrtc*",
                                         "nvJitLink*",
                                         "cuModuleLoad*",
                                         "cuLibraryLoad*",
                                         "cuLink*",
                                         "cudaLibraryLoad*"};

bool is_reader(std::string_view name) {
  return std::ranges::any_of(kReaders, [&](std::string_view reader) {
    return reader.ends_with('*') ? name.starts_with(reader.substr(0, reader.size() - 1)) : name == reader;
  });
}

std::string last_line(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text.substr(text.rfind('\n') + 1);  // npos + 1 is 0
}

// It takes libraries from where it lies itself, and each arm has its own there.
bool looks_beside_itself(const fs::path& module) {
  std::ifstream file(module, std::ios::binary);
  const std::string content(std::istreambuf_iterator<char>(file), {});
  return content.find("$ORIGIN") != std::string::npos || content.find("${ORIGIN}") != std::string::npos;
}

std::string why_unchanged(const fs::path& base, const fs::path& change) {
  const std::string hash = image_hash_of(base);
  if (hash.empty() || hash != image_hash_of(change) || !reads_at_run_time(base).empty()) return {};
  if (base.parent_path() != change.parent_path() && looks_beside_itself(base)) return {};
  return "the same machine code and data, " + hash;
}

}  // namespace

Arm build_arm(const std::string& name, const fs::path& script, const fs::path& tree, const fs::path& venv,
              const std::string& device, const fs::path& out) {
  const ProgramEnd end =
      run_program({script.string(), tree.string(), device, out.string()}, {{"ASSAY_VENV", venv.string()}});
  if (end.status != 0) {
    throw UsageError("--base: the " + name +
                     " cannot be built for the comparison of latencies: " + last_line(end.output));
  }
  return arm_of(name, last_line(end.output));
}

Arm arm_of(const std::string& name, const fs::path& modules) {
  std::error_code error;
  const auto is_module = [](const fs::directory_entry& entry) { return entry.path().extension() == ".so"; };
  const fs::directory_iterator files(modules, error);
  if (error || std::none_of(begin(files), end(files), is_module)) {
    throw UsageError("modules of the " + name + ": there are none in " + modules.string());
  }
  return {name, modules};
}

Pairs pair_up(const std::vector<KernelInfo>& base, const std::vector<KernelInfo>& change, const std::string& target) {
  const auto by_name = [&](const std::vector<KernelInfo>& kernels) {
    std::map<std::string, const KernelInfo*> found;
    for (const KernelInfo& kernel : kernels) {
      if (kernel.target == target) found[kernel.op + "/" + kernel.name] = &kernel;
    }
    return found;
  };
  const auto before = by_name(base), now = by_name(change);
  Pairs pairs;
  for (const auto& [name, kernel] : before) {
    const auto other = now.find(name);
    if (other == now.end()) {
      pairs.base_alone.push_back(name);
      continue;
    }
    pairs.both[name] = {*kernel, *other->second, why_unchanged(kernel->module, other->second->module)};
  }
  for (const auto& [name, unused] : now) {
    if (!before.contains(name)) pairs.change_alone.push_back(name);
  }
  return pairs;
}

std::string reads_at_run_time(const fs::path& module) {
  std::set<std::string> readers;
  for (const std::string& name : imports_of(module)) {
    if (is_reader(name)) readers.insert(name);
  }
  std::string text;
  for (const std::string& name : readers) text += (text.empty() ? "" : ", ") + name;
  return text;
}

}  // namespace assay
