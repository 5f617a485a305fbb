#include "record/json_fields.h"

#include <cmath>

namespace assay {

JsonFields::JsonFields(const nlohmann::json& object, std::string path) : object_(&object), path_(std::move(path)) {
  if (!object.is_object()) throw UsageError((path_.empty() ? "the document" : path_) + ": not an object");
}

void JsonFields::fail(const std::string& key, const std::string& problem) const {
  throw UsageError(path_of(key) + ": " + problem);
}

const nlohmann::json& JsonFields::at(const std::string& key) const {
  const auto found = object_->find(key);
  if (found == object_->end()) fail(key, "is missing: made by an older assay, or damaged");
  return *found;
}

const nlohmann::json& JsonFields::array(const std::string& key) const {
  const nlohmann::json& value = at(key);
  if (!value.is_array()) fail(key, "not an array");
  return value;
}

std::string JsonFields::text(const std::string& key) const {
  const nlohmann::json& value = at(key);
  if (!value.is_string()) fail(key, "not a string");
  return value.get<std::string>();
}

bool JsonFields::boolean(const std::string& key) const {
  const nlohmann::json& value = at(key);
  if (!value.is_boolean()) fail(key, "not true or false");
  return value.get<bool>();
}

double JsonFields::number(const std::string& key) const {
  const nlohmann::json& value = at(key);
  if (value.is_number()) return value.get<double>();
  if (value == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (value == "inf") return std::numeric_limits<double>::infinity();
  if (value == "-inf") return -std::numeric_limits<double>::infinity();
  fail(key, "not a number, \"nan\", \"inf\" or \"-inf\"");
}

std::vector<int64_t> JsonFields::integers(const std::string& key) const {
  std::vector<int64_t> values;
  for (const nlohmann::json& value : array(key)) {
    values.push_back(integer_of<int64_t>(value, path_of(key) + "[" + std::to_string(values.size()) + "]"));
  }
  return values;
}

std::vector<std::string> JsonFields::texts(const std::string& key) const {
  std::vector<std::string> values;
  for (const nlohmann::json& value : array(key)) {
    if (!value.is_string()) fail(key + "[" + std::to_string(values.size()) + "]", "not a string");
    values.push_back(value.get<std::string>());
  }
  return values;
}

JsonFields JsonFields::object(const std::string& key) const { return JsonFields(at(key), path_of(key)); }

std::vector<JsonFields> JsonFields::objects(const std::string& key) const {
  std::vector<JsonFields> values;
  for (const nlohmann::json& value : array(key)) {
    values.emplace_back(value, path_of(key) + "[" + std::to_string(values.size()) + "]");
  }
  return values;
}

std::vector<std::string> JsonFields::keys() const {
  std::vector<std::string> keys;
  for (const auto& [key, value] : object_->items()) keys.push_back(key);
  return keys;
}

}  // namespace assay
