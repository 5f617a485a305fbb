// A recipe, ci/libraries/NAME.toml: where versions of a library come from, how its file is found, which kernels compute
// with it, and how it is told which instruction set to use. To add a library, write one: ci/README.md, Libraries.
//
//   kernels = ["*/openblas"]              op/kernel that compute with it; '*' is any text
//   soname = "libopenblas.so.0"           the name by which their modules need it
//   file = "libopenblas*.so*"             what its file is called, in a package or a folder
//   parts = "libcudnn_*.so.*"             may be left out: files beside it that it loads itself when it needs them
//   symbol_prefix = "scipy_"              may be left out: before the name of each function that the modules call
//   [[source]]                            at least one; of two that give the same version the first is taken
//   kind = "system"                       what is installed: the build's library path, then the loader's
//   kind = "debian"                       a distribution's suites, through apt
//     suites = ["trixie", "sid"]
//     package = "libopenblas0-pthread"
//     needs = ["libgfortran5", "libc6"]   may be left out: packages that may have what this machine lacks
//   kind = "wheel"                        PyPI
//     project = "scipy-openblas32"
//   kind = "folder"                       one that the user names
//   left_out = "has another interface"    may be left out: why this source's versions cannot be used; they are listed
//   [instruction_set]                     may be left out
//   variable = "OPENBLAS_CORETYPE"        of the environment
//   aliases = ["OTHER_NAME"]              may be left out: other variables that say the same to the library
//   shown_as = "isa"                      what kernels say ran, by describe()
//   values = ["Haswell", "Zen"]
//   shown = ["Haswell", "Zen"]            of each value what must be shown; left out: the value itself
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace assay {

struct LibrarySource {
  std::string kind;                 // system, debian, wheel, folder
  std::vector<std::string> suites;  // of debian
  std::string package;              // of debian; of wheel its project
  std::vector<std::string> needs;   // of debian
  std::string left_out;
};

struct LibraryRecipe {
  std::string name;  // of its file
  std::vector<std::string> kernels;
  std::string soname, file, parts, symbol_prefix;
  std::vector<LibrarySource> sources;
  struct InstructionSets {
    std::string variable, shown_as;
    std::vector<std::string> aliases;        // other variables that the library reads for it
    std::vector<std::string> values, shown;  // as many
  };
  std::optional<InstructionSets> instruction_sets;

  bool concerns(std::string_view op, std::string_view kernel) const;
};

// Throws UsageError that names file, key and remedy.
LibraryRecipe read_recipe(const std::filesystem::path& file);

// Of a source tree. Throws UsageError with the nearest name for one that it has not.
LibraryRecipe find_recipe(const std::filesystem::path& root, const std::string& name);
std::vector<std::string> recipe_names(const std::filesystem::path& root);

}  // namespace assay
