// Strict reading of a TOML file: a table is opened with the keys it may have, and refuses any other before
// it misses one: a misspelt key is named as it is written. Each error is one line with file, key and remedy.
#pragma once

#include <toml++/toml.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

namespace assay {

toml::table read_toml(const std::filesystem::path& file);  // throws UsageError: missing, unreadable, not TOML
toml::table parse_toml(const std::string& text, const std::filesystem::path& file);  // of that file, likewise

class TomlTable {
 public:
  // `file` is named in errors; `path` is the key of the table within it, "" for the file itself.
  TomlTable(std::string file, std::string path, const toml::table& table)
      : file_(std::move(file)), path_(std::move(path)), table_(&table) {}

  void allow(const std::vector<std::string>& keys);  // first of all; throws for a key that is not one of them

  bool has(std::string_view key) const { return find(key) != nullptr; }
  std::string text(std::string_view key);                  // not empty
  std::string line(std::string_view key);                  // text without control characters
  bool truth(std::string_view key);                        // true or false
  double positive(std::string_view key);                   // above 0
  uint64_t count(std::string_view key);                    // integer, at least 0
  std::chrono::year_month_day date(std::string_view key);  // 2026-01-31, no quotes
  std::vector<std::string> words(std::string_view key);    // array of strings, at least one
  std::vector<double> numbers(std::string_view key);       // array of numbers, at least one, none infinite
  TomlTable table(std::string_view key);                   // [key]
  std::vector<TomlTable> tables(std::string_view key);     // [[key]]; none when absent

  [[noreturn]] void fail(std::string_view key, const std::string& why) const;

 private:
  const toml::node* find(std::string_view key) const;
  const toml::node& need(std::string_view key, const char* remedy) const;
  std::string name_of(std::string_view key) const;

  std::string file_, path_;
  const toml::table* table_;
  std::vector<std::string> allowed_;
};

}  // namespace assay
