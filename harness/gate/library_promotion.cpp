#include "gate/library_promotion.h"

#include <algorithm>
#include <tuple>
#include <vector>

#include "core/error.h"
#include "gate/library_sets.h"
#include "gate/package.h"
#include "gate/program.h"
#include "record/run_folder.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

PinnedLibrary entry_for(const LibrarySet::File& file, const Package& package) {
  return {.file = file.path.filename().string(),
          .version = file.version.empty() ? kUnknown : file.version,
          .build_id = file.build_id.empty() ? kUnknown : file.build_id,
          .package = package.name,
          .package_sha256 = package.sha256,
          .sha256 = sha256_of(file.path)};
}

}  // namespace

Pin promoted(const Pin& pin, const LibrarySet& from, const LibrarySet& to) {
  if (from.files.empty() || to.files.empty()) throw UsageError("promote: a set without files is no pin's");
  Pin after = pin;
  const auto entry_of = [&](const LibrarySet::File& file) {
    const std::string name = file.path.filename().string();
    return std::ranges::find_if(
        after.libraries, [&](const PinnedLibrary& one) { return one.file == name && one.build_id == file.build_id; });
  };
  if (entry_of(from.files.front()) == after.libraries.end()) {
    throw UsageError("promote: the pin lists no " + from.files.front().path.filename().string() + " of build " +
                     from.files.front().build_id +
                     ", which the candidate was judged against; judge it against the "
                     "pinned one");
  }
  std::vector<fs::path> files;
  for (const LibrarySet::File& file : to.files) files.push_back(file.path);
  const std::vector<Package> packages = packages_of_files(files);
  for (size_t i = 0; i < files.size(); ++i) {
    PinnedLibrary entry = entry_for(to.files[i], packages[i]);
    bool was_pinned = false;
    for (const LibrarySet::File& old : from.files) {
      if (old.soname != to.files[i].soname) continue;
      if (const auto found = entry_of(old); found != after.libraries.end()) {
        was_pinned = true;
        entry.late = found->late;
        after.libraries.erase(found);
      }
    }
    if (to.files[i].part && !was_pinned) continue;  // no kernel made the library load it
    // One that other kernels need too, libc.so.6 say: a process has one of each.
    std::erase_if(after.libraries, [&](const PinnedLibrary& one) { return one.file == entry.file; });
    after.libraries.push_back(entry);
  }
  for (const LibrarySet::File& old : from.files) {
    // Else it is what the pin needed of the machine, which the candidate finds there too.
    const bool is_gone =
        old.part && std::ranges::find(to.files, old.soname, &LibrarySet::File::soname) == to.files.end();
    if (!is_gone) continue;
    if (const auto found = entry_of(old); found != after.libraries.end()) after.libraries.erase(found);
  }
  std::ranges::sort(after.libraries, {}, [](const PinnedLibrary& one) { return std::tie(one.file, one.build_id); });
  return after;
}

std::string promote(const fs::path& pin_file, const LibrarySet& from, const LibrarySet& to) {
  const std::string text = print_pin(promoted(read_pin(pin_file), from, to));
  if (text == read_whole(pin_file)) return {};
  const fs::path fresh = pin_file.string() + ".promoted";
  write_file_atomically(fresh, text);
  const std::string name = "ci/pins/" + pin_file.filename().string();
  const ProgramEnd diff =
      run_program({"diff", "-u", "--label", "a/" + name, "--label", "b/" + name, pin_file.string(), fresh.string()});
  if (diff.status != 1) {
    fs::remove(fresh);
    throw Error("diff: " + diff.output + "; " + name + " is as it was");
  }
  fs::rename(fresh, pin_file);
  return diff.output;
}

}  // namespace assay
