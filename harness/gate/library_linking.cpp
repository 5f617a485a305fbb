#include "gate/library_linking.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <sstream>

#include "core/error.h"
#include "gate/program.h"
#include "load/elf.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

class Folder {
 public:
  Folder(const Linking& linking, const fs::path& path)
      : place_(linking.place), path_(path), interpreter_(interpreter_of(linking.place.worker)) {}

  void link(const std::string& name, const fs::path& target) {
    fs::create_symlink(target, path_ / name);
    links_.insert(name);
  }
  bool has(const std::string& name) const { return links_.contains(name); }

  // The file of that name in the tree, and where it is the dynamic loader's own libc all that belongs to it: parts of
  // two do not mix.
  bool take(const std::string& name, const fs::path& tree) {
    const fs::path file = find_below(tree, name);
    if (file.empty()) return false;
    const std::string loader = interpreter_.filename().string();
    if (!fs::exists(file.parent_path() / loader)) {
      link(name, file);
      return true;
    }
    for (const auto& entry : fs::directory_iterator(file.parent_path())) {
      const std::string part = entry.path().filename().string();
      const bool is_library = part.find(".so.") != std::string::npos && entry.is_regular_file();
      if (is_library && !has(part)) link(part, fs::canonical(entry.path()));
    }
    return has(name);
  }

  fs::path loader() const {
    const fs::path own = path_ / interpreter_.filename();
    std::error_code error;
    return fs::exists(own, error) ? fs::canonical(own) : fs::path();
  }

  // What the loader that workers will have lacks of `file`.
  std::vector<Lacking> lacks(const fs::path& file, std::string& rest) const {
    std::string path = path_.string();
    for (const fs::path& folder : place_.installed) path += ":" + folder.string();
    if (const char* inherited = std::getenv("LD_LIBRARY_PATH"); inherited != nullptr && *inherited != '\0') {
      path += ":" + std::string(inherited);
    }
    const fs::path own = loader();
    const ProgramEnd end =
        run_program({(own.empty() ? interpreter_ : own).string(), "--library-path", path, "--list", file.string()});
    std::vector<Lacking> lacking = lacking_in(end.output, rest);
    if (end.status != 0 && lacking.empty() && rest.empty()) rest = "exit status " + std::to_string(end.status);
    return lacking;
  }

 private:
  static fs::path find_below(const fs::path& tree, const std::string& name) {
    std::error_code error;
    for (fs::recursive_directory_iterator entry(tree, error), end; !error && entry != end; entry.increment(error)) {
      if (entry->path().filename() == name && entry->is_regular_file(error)) return fs::canonical(entry->path());
    }
    return {};
  }

  const LibraryPlace& place_;
  fs::path path_, interpreter_;
  std::set<std::string> links_;
};

bool find_one(const std::vector<Lacking>& lacking, Linking& linking, Folder& folder) {
  for (const Lacking& one : lacking) {
    if (folder.has(one.soname)) continue;  // it has been given the one there is
    for (const fs::path& tree : linking.trees) {
      if (folder.take(one.soname, tree)) return true;
    }
  }
  return false;
}

// Until nothing is lacking.
void complete(Linking& linking, Folder& folder, const fs::path& library) {
  for (const fs::path& file : {library, linking.place.worker}) {
    while (true) {
      std::string rest;
      const std::vector<Lacking> lacking = folder.lacks(file, rest);
      if (lacking.empty() && rest.empty()) break;
      if (find_one(lacking, linking, folder)) continue;
      if (lacking.empty()) throw Invalid(linking.recipe.name + ": cannot be loaded: " + rest);
      const auto tree = linking.more();
      if (!tree) {
        throw Invalid(linking.recipe.name + ": cannot be loaded here: " + lacking.front().words +
                      "; name the package that has it in the recipe's `needs`");
      }
      linking.trees.push_back(*tree);
    }
  }
}

// Two makers of one set do not meet: each has a folder, and the first to name it wins.
class NewFolder {
 public:
  explicit NewFolder(const fs::path& name) : path_(name.string() + ".new" + std::to_string(::getpid())) {
    fs::remove_all(path_);
    fs::create_directories(path_);
  }
  ~NewFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  NewFolder(const NewFolder&) = delete;
  NewFolder& operator=(const NewFolder&) = delete;
  const fs::path& path() const { return path_; }
  void become(const fs::path& name) const {
    std::error_code error;
    fs::rename(path_, name, error);
    if (error && !fs::exists(name)) throw Error(name.string() + ": cannot be made: " + error.message());
  }

 private:
  fs::path path_;
};

bool has_prefix(const fs::path& library, const std::string& prefix) {
  const std::vector<std::string> names = prefix.empty() ? std::vector<std::string>{} : exports_of(library);
  return std::any_of(names.begin(), names.end(), [&](const std::string& name) { return name.starts_with(prefix); });
}

bool is_whole(const Linking& linking, const fs::path& folder) {
  const Folder kept(linking, folder);
  for (const fs::path& file : {folder / linking.recipe.soname, linking.place.worker}) {
    std::string rest;
    if (!fs::exists(file) || !kept.lacks(file, rest).empty() || !rest.empty()) return false;
  }
  return std::ranges::all_of(linking.parts, [&](const fs::path& part) {
    std::error_code error;
    return fs::equivalent(folder / soname_of(part), part, error);
  });
}

}  // namespace

std::vector<Lacking> lacking_in(const std::string& output, std::string& rest) {
  constexpr std::string_view kOld = ": version `", kFails = "error while loading shared libraries: ",
                             kAbsent = ": cannot open shared object file";
  std::vector<Lacking> lacking;
  rest.clear();
  std::istringstream in(output);
  for (std::string line; std::getline(in, line);) {
    const size_t old = line.find(kOld), fails = line.find(kFails), absent = line.find(kAbsent);
    std::string soname;
    if (old != std::string::npos) {
      const size_t space = line.rfind(' ', old);
      soname = fs::path(line.substr(space + 1, old - space - 1)).filename().string();  // npos + 1 is 0
    } else if (fails != std::string::npos && absent != std::string::npos && absent > fails) {
      const size_t begin = fails + kFails.size();
      soname = line.substr(begin, absent - begin);
    } else {
      if (fails != std::string::npos) rest = line;
      continue;
    }
    const auto same = [&](const Lacking& one) { return one.soname == soname; };
    if (std::none_of(lacking.begin(), lacking.end(), same)) lacking.push_back({soname, line});
  }
  return lacking;
}

Linked link_library(Linking& linking, const fs::path& name, std::vector<std::string>& notes) {
  const fs::path folder = library_cache(linking.place, notes) / name;
  const std::string& soname = linking.recipe.soname;
  if (fs::exists(folder) && is_whole(linking, folder)) return {folder, Folder(linking, folder).loader()};
  fs::remove_all(folder);
  const NewFolder made(folder);
  Folder links(linking, made.path());
  const std::string& prefix = linking.recipe.symbol_prefix;
  if (!has_prefix(linking.main, prefix)) {
    if (!prefix.empty()) notes.push_back(linking.main.string() + " has no function " + prefix + "...: loaded as it is");
    links.link(soname, linking.main);
  } else {
    const std::string own = soname_of(linking.main);
    links.link(own.empty() ? linking.main.filename().string() : own, linking.main);
    ask_library_script(linking.place, {"shim", prefix, soname, linking.main.string(), made.path() / soname}, notes);
  }
  for (const fs::path& part : linking.parts) {
    if (!links.has(soname_of(part))) links.link(soname_of(part), part);
  }
  complete(linking, links, made.path() / soname);
  made.become(folder);
  return {folder, Folder(linking, folder).loader()};
}

}  // namespace assay
