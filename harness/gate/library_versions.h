// Which versions of a library a recipe's sources give now, and the one that a person's words mean. The sources are
// asked, through ci/library; nothing here knows a version.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "gate/library_recipe.h"

namespace assay {

// Where sets are made, and for which worker.
struct LibraryPlace {
  std::filesystem::path root;                    // source tree: its ci/libraries and ci/library
  std::filesystem::path worker;                  // assay-worker, which has to load what is made
  std::vector<std::filesystem::path> installed;  // JudgeSettings::library_path
};

struct LibraryVersion {
  std::string kind;     // of its source
  std::string from;     // a suite, "PyPI", the folder, or of what is installed the file; "kept": no suite has it now
  std::string version;  // "0.3.29+ds-3"; "unknown" where what is installed does not tell
  LibrarySource source;
};

// "0.3.29+ds-3 (trixie)"
std::string text_of(const LibraryVersion& version);

// Words that find_library_version() takes for it and for no other: "debian:0.3.29+ds-3", the folder.
std::string words_for(const LibraryVersion& version);

// In the order of the recipe's sources, those that are left out too. `notes` gets a line for each source that could not
// be asked anew. Throws UsageError for a source that cannot be asked at all.
std::vector<LibraryVersion> library_versions(const LibraryPlace& place, const LibraryRecipe& recipe,
                                             std::vector<std::string>& notes);

// What `words` mean: a version or its first numbers ("0.3.29"), a suite ("trixie"), "system", a folder (with a '/'); of
// one source alone after "debian:", "wheel:" or "folder:". The first source that has it counts. Throws UsageError,
// which tells the versions there are, for none, for several, and for one that is left out, with the reason.
LibraryVersion find_library_version(const LibraryPlace& place, const LibraryRecipe& recipe, const std::string& words,
                                    std::vector<std::string>& notes);

// Whether `version` is meant by its first numbers: "0.3.2" means 0.3.2 and 0.3.2+ds-1, and not 0.3.21.
bool is_meant_by(std::string_view version, std::string_view words);

// By their numbers: 0.3.9 comes before 0.3.21.
bool is_earlier(std::string_view version, std::string_view other);

// One answer of ci/library, by lines; those for the reader go to `notes`. Throws UsageError with its last line when it
// fails.
std::vector<std::string> ask_library_script(const LibraryPlace& place, const std::vector<std::string>& arguments,
                                            std::vector<std::string>& notes);

// The folder where ci/library keeps what it has fetched, and sets are made.
std::filesystem::path library_cache(const LibraryPlace& place, std::vector<std::string>& notes);

// The file by which the soname is found here: in `installed`, in LD_LIBRARY_PATH, by the loader's cache. Empty:
// nowhere.
std::filesystem::path find_installed(const LibraryPlace& place, const std::string& soname);

}  // namespace assay
