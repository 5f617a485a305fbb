#include "gate/library_recipe.h"

#include <algorithm>
#include <set>

#include "core/error.h"
#include "gate/nearest.h"
#include "gate/toml_file.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

// Becomes a file's name, a word of a command, or a part of a path: nothing in it is special to any of them.
std::string plain(TomlTable& table, std::string_view key, const std::string& text, std::string_view also = "") {
  const auto is_plain = [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("+._-").find(c) != std::string_view::npos || also.find(c) != std::string_view::npos;
  };
  if (text.empty() || text.front() == '-' || text.front() == '.' || !std::all_of(text.begin(), text.end(), is_plain)) {
    table.fail(key, "'" + text + "' must be of letters, digits and " + "+._-" + std::string(also) +
                        ", and begin with none of . and -");
  }
  return text;
}
std::string plain_line(TomlTable& table, std::string_view key, std::string_view also = "") {
  return plain(table, key, table.line(key), also);
}
std::vector<std::string> plain_words(TomlTable& table, std::string_view key, std::string_view also = "") {
  std::vector<std::string> words = table.words(key);
  std::set<std::string> seen;
  for (const std::string& word : words) {
    if (!seen.insert(plain(table, key, word, also)).second) table.fail(key, "has '" + word + "' twice; take one out");
  }
  return words;
}

LibrarySource read_source(TomlTable& table) {
  LibrarySource source;
  table.allow({"kind", "left_out", "needs", "package", "project", "suites"});
  source.kind = table.line("kind");
  const std::vector<std::string> kinds{"debian", "folder", "system", "wheel"};
  if (std::find(kinds.begin(), kinds.end(), source.kind) == kinds.end()) {
    table.fail("kind", "'" + source.kind + "' is no kind of source" + suggestion(source.kind, kinds));
  }
  const bool debian = source.kind == "debian", wheel = source.kind == "wheel";
  for (const char* key : {"suites", "package", "needs"}) {
    if (!debian && table.has(key)) table.fail(key, "is of kind \"debian\" alone; take it out");
  }
  if (!wheel && table.has("project")) table.fail("project", "is of kind \"wheel\" alone; take it out");
  if (debian) source.suites = plain_words(table, "suites");
  if (debian) source.package = plain_line(table, "package");
  if (debian && table.has("needs")) source.needs = plain_words(table, "needs");
  if (wheel) source.package = plain_line(table, "project");
  if (table.has("left_out")) source.left_out = table.line("left_out");
  return source;
}

LibraryRecipe::InstructionSets read_instruction_sets(TomlTable table) {
  LibraryRecipe::InstructionSets sets;
  table.allow({"aliases", "shown", "shown_as", "values", "variable"});
  sets.variable = plain_line(table, "variable");
  const bool is_loaders = sets.variable.starts_with("LD_") || sets.variable == "PATH";
  if (is_loaders || sets.variable.find_first_of("+.-") != std::string::npos) {
    table.fail("variable", "'" + sets.variable + "' is no variable by which a library is told what to use");
  }
  if (table.has("aliases")) sets.aliases = plain_words(table, "aliases");
  sets.shown_as = plain_line(table, "shown_as");
  sets.values = plain_words(table, "values");
  sets.shown = table.has("shown") ? table.words("shown") : sets.values;
  if (sets.shown.size() != sets.values.size()) {
    table.fail("shown", "has " + std::to_string(sets.shown.size()) + " texts for " +
                            std::to_string(sets.values.size()) + " values; give one for each");
  }
  return sets;
}

}  // namespace

bool LibraryRecipe::concerns(std::string_view op, std::string_view kernel) const {
  const std::string name = std::string(op) + "/" + std::string(kernel);
  return std::any_of(kernels.begin(), kernels.end(),
                     [&](const std::string& pattern) { return glob_matches(pattern, name); });
}

LibraryRecipe read_recipe(const fs::path& file) {
  const toml::table parsed = read_toml(file);
  TomlTable root(file.string(), "", parsed);
  root.allow({"file", "instruction_set", "kernels", "parts", "soname", "source", "symbol_prefix"});
  LibraryRecipe recipe;
  recipe.name = file.stem().string();
  recipe.kernels = plain_words(root, "kernels", "*/");
  for (const std::string& kernel : recipe.kernels) {
    if (kernel.find('/') == std::string::npos) root.fail("kernels", "'" + kernel + "' is not of the form op/kernel");
  }
  recipe.soname = plain_line(root, "soname");
  recipe.file = plain_line(root, "file", "*");
  if (root.has("parts")) recipe.parts = plain_line(root, "parts", "*");
  if (root.has("symbol_prefix")) recipe.symbol_prefix = plain_line(root, "symbol_prefix");
  for (TomlTable& table : root.tables("source")) recipe.sources.push_back(read_source(table));
  if (recipe.sources.empty()) root.fail("source", "is missing; say where versions come from, under [[source]]");
  if (root.has("instruction_set")) recipe.instruction_sets = read_instruction_sets(root.table("instruction_set"));
  return recipe;
}

std::vector<std::string> recipe_names(const fs::path& root) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(root / "ci/libraries", error), end; !error && entry != end;
       entry.increment(error)) {
    if (entry->path().extension() == ".toml") names.push_back(entry->path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

LibraryRecipe find_recipe(const fs::path& root, const std::string& name) {
  const std::vector<std::string> names = recipe_names(root);
  if (std::find(names.begin(), names.end(), name) == names.end()) {
    throw UsageError("library '" + name + "': there is no ci/libraries/" + name + ".toml" + suggestion(name, names));
  }
  return read_recipe(root / "ci/libraries" / (name + ".toml"));
}

}  // namespace assay
