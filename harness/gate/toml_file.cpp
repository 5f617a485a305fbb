#include "gate/toml_file.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "gate/nearest.h"
#include "record/run_folder.h"

namespace assay {

toml::table read_toml(const std::filesystem::path& file) { return parse_toml(read_whole(file), file); }

toml::table parse_toml(const std::string& text, const std::filesystem::path& file) {
  try {
    return toml::parse(text);
  } catch (const toml::parse_error& e) {
    throw UsageError(file.string() + ":" + std::to_string(e.source().begin.line) +
                     ": not TOML: " + std::string(e.description()));
  }
}

std::string TomlTable::name_of(std::string_view key) const {
  return path_.empty() ? std::string(key) : path_ + "." + std::string(key);
}

void TomlTable::fail(std::string_view key, const std::string& why) const {
  throw UsageError(file_ + ": " + name_of(key) + ": " + why);
}

void TomlTable::allow(const std::vector<std::string>& keys) {
  allowed_ = keys;
  for (const auto& [key, node] : *table_) {
    if (std::find(keys.begin(), keys.end(), key.str()) != keys.end()) continue;
    fail(key.str(), "is not known here" + suggestion(key.str(), keys));
  }
}

const toml::node* TomlTable::find(std::string_view key) const {
  if (std::find(allowed_.begin(), allowed_.end(), key) == allowed_.end()) {
    throw Error("'" + name_of(key) + "' is read but not allowed in " + file_);
  }
  return table_->get(key);
}

const toml::node& TomlTable::need(std::string_view key, const char* remedy) const {
  const toml::node* node = find(key);
  if (node == nullptr) fail(key, std::string("is missing; give ") + remedy);
  return *node;
}

std::string TomlTable::text(std::string_view key) {
  const auto* value = need(key, "a text in quotes").as_string();
  if (value == nullptr || value->get().empty()) fail(key, "must be a text in quotes, and not empty");
  return value->get();
}

std::string TomlTable::line(std::string_view key) {
  const std::string value = text(key);
  const auto is_control = [](unsigned char c) { return c < 0x20 || c == 0x7f; };
  if (std::any_of(value.begin(), value.end(), is_control)) fail(key, "must be one line without control characters");
  return value;
}

bool TomlTable::truth(std::string_view key) {
  const auto* value = need(key, "true or false").as_boolean();
  if (value == nullptr) fail(key, "must be true or false");
  return value->get();
}

double TomlTable::positive(std::string_view key) {
  const auto value = need(key, "a number above 0").value<double>();
  if (!value || !(*value > 0 && *value < 1e18)) fail(key, "must be a number above 0");
  return *value;
}

uint64_t TomlTable::count(std::string_view key) {
  const auto* value = need(key, "an integer, 0 or more").as_integer();
  if (value == nullptr || value->get() < 0) fail(key, "must be an integer, 0 or more");
  return static_cast<uint64_t>(value->get());
}

std::chrono::year_month_day TomlTable::date(std::string_view key) {
  const auto* value = need(key, "a date such as 2026-01-31").as_date();
  if (value == nullptr) fail(key, "must be a date such as 2026-01-31, without quotes");
  const toml::date d = value->get();
  const std::chrono::year_month_day date{std::chrono::year(d.year), std::chrono::month(d.month),
                                         std::chrono::day(d.day)};
  if (!date.ok()) fail(key, "is not a day of the calendar");
  return date;
}

std::vector<std::string> TomlTable::words(std::string_view key) {
  const char* remedy = "a list of texts, at least one";
  const auto* array = need(key, remedy).as_array();
  std::vector<std::string> words;
  if (array != nullptr) {
    for (const toml::node& node : *array) {
      if (!node.is_string()) fail(key, std::string("must be ") + remedy);
      words.push_back(node.as_string()->get());
    }
  }
  if (words.empty()) fail(key, std::string("must be ") + remedy);
  return words;
}

std::vector<double> TomlTable::numbers(std::string_view key) {
  const char* remedy = "a list of numbers, at least one";
  const auto* array = need(key, remedy).as_array();
  std::vector<double> numbers;
  if (array != nullptr) {
    for (const toml::node& node : *array) {
      const auto value = node.value<double>();
      if (!value || !std::isfinite(*value)) fail(key, std::string("must be ") + remedy);
      numbers.push_back(*value);
    }
  }
  if (numbers.empty()) fail(key, std::string("must be ") + remedy);
  return numbers;
}

TomlTable TomlTable::table(std::string_view key) {
  const auto* table = need(key, "the table").as_table();
  if (table == nullptr) fail(key, "must be a table, written [" + name_of(key) + "]");
  return {file_, name_of(key), *table};
}

std::vector<TomlTable> TomlTable::tables(std::string_view key) {
  const toml::node* node = find(key);
  if (node == nullptr) return {};
  const auto* array = node->as_array();
  std::vector<TomlTable> tables;
  if (array != nullptr) {
    for (const toml::node& element : *array) {
      if (!element.is_table()) break;
      tables.push_back({file_, name_of(key) + "[" + std::to_string(tables.size()) + "]", *element.as_table()});
    }
  }
  if (array == nullptr || tables.size() != array->size()) {
    fail(key, "must be a list of tables, each written [[" + name_of(key) + "]]");
  }
  return tables;
}

}  // namespace assay
