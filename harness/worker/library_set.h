// One version of a library as workers get it: the folders that come first in their library path, where it needs one a
// dynamic loader of its own, and the files that then must be the ones loaded. Two sets are never in one process. What a
// worker really loaded proves which set it ran under: violation().
#pragma once

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "record/run_json.h"

namespace assay {

struct LibrarySet {
  std::string library;                             // the recipe's name, "openblas"; empty: no set, what is installed
  std::string version;                             // "0.3.29+ds-3", a folder
  std::string words;                               // that ask for it again, whatever else has it: "debian:0.3.29+ds-3"
  std::vector<std::filesystem::path> folders;      // put first in a worker's library path
  std::filesystem::path loader;                    // the set's own dynamic loader; empty: the system's
  std::map<std::string, std::string> environment;  // of the worker: {"OPENBLAS_CORETYPE", "Haswell"}
  // Each must be what a worker has loaded after its last case, and no other file of its soname; a part, where anything
  // of its name is loaded at all.
  struct File {
    std::string soname;
    std::filesystem::path path;  // canonical
    std::string version;         // that in its name (load/elf.h), or empty
    std::string build_id;        // build_of() of load/elf.h
    bool part = false;           // the library loads it itself when it needs it
  };
  std::vector<File> files;
  // What a kernel's selection must show for the environment to have been heeded: {"isa", "Haswell"}.
  std::map<std::string, std::string> expected;
  // Where the files came from.
  struct Package {
    std::string name;    // "deb libopenblas0-pthread 0.3.29+ds-3", "wheel scipy-openblas32 0.3.29.265.1", "unknown"
    std::string sha256;  // of the package's file; "unknown" where that is not to be had
  };
  std::vector<Package> packages;
};

// Those that a process needs in order to load `soname` from `folders`, itself included: what it and its libraries need
// in turn, as far as the folders hold it. Throws UsageError where the folders do not hold `soname` itself.
std::vector<LibrarySet::File> files_needed(const std::string& soname, std::span<const std::filesystem::path> folders);

// How the libraries that a worker had loaded after its last case contradict its set, in one line: a file of the set was
// not loaded, or another one in its stead (the pin's, say), or both, or it is another build by now. Empty: they prove
// the set. Says so too where the set names no files, which proves nothing.
std::string violation(const LibrarySet& set, std::span<const LoadedLibrary> loaded);

// Those of `loaded` that bear the name of one of the set's files: its own, and what came in the place of one.
std::vector<LoadedLibrary> named_in(const LibrarySet& set, std::span<const LoadedLibrary> loaded);

// How what a kernel says of its plan (Record::selection) contradicts what the set's environment asked the library for,
// in one line: another core ran, or the kernel does not tell. Empty: it was heeded, or nothing was asked.
std::string environment_refused(const LibrarySet& set, const std::map<std::string, std::string>& selection);

// "openblas-1a2b3c4d5e6f7a8b", of the builds of all its files, parts too, and of what is asked of it. The first file
// alone would not do: of a wheel it may be a list of names, which two versions share.
std::string identity_of(const LibrarySet& set);

nlohmann::json to_json(const LibrarySet& set);
LibrarySet library_set_from_json(const nlohmann::json& value);

}  // namespace assay
