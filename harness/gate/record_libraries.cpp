#include "gate/record_libraries.h"

#include <set>

#include "gate/goldens.h"
#include "load/elf.h"

namespace assay {
namespace {

// The inverse of identity().
LoadedLibrary identified(const std::string& text) {
  constexpr std::string_view kVersion = "version ";
  const size_t space = text.find(' ');
  const std::string name = text.substr(0, space);
  const std::string what = space == std::string::npos ? "" : text.substr(space + 1);
  if (what.starts_with(kVersion)) return {.path = name, .version = what.substr(kVersion.size()), .build_id = "unknown"};
  return {.path = name, .version = version_in_name(name), .build_id = what};
}

}  // namespace

LibrariesByKernel brought_libraries(const Run& run, const std::vector<Record>& records) {
  LibrariesByKernel brought;
  std::map<std::string, std::string> module_of;
  for (const KernelEntry& kernel : run.kernels) {
    const std::string name = kernel.op + "/" + kernel.name;
    module_of[name] = kernel.module;
    brought[name] = computing_libraries(run.libraries, kernel.module);
  }
  std::map<std::string, std::set<std::string>> late;  // by module: its kernels share processes
  for (const Record& record : records) {
    late[module_of[record.op + "/" + record.kernel]].insert(record.late_libraries.begin(), record.late_libraries.end());
  }
  for (auto& [kernel, libraries] : brought) {
    const std::set<std::string>& later = late[module_of[kernel]];
    std::erase_if(libraries, [&](const LoadedLibrary& library) { return later.contains(identity(library)); });
  }
  return brought;
}

std::vector<LoadedLibrary> libraries_of(const Record& record, std::vector<LoadedLibrary> brought) {
  for (const std::string& late : record.late_libraries) brought.push_back(identified(late));
  return brought;
}

}  // namespace assay
