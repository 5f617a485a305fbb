// Typed access to the fields of a JSON object. Unknown keys are ignored, so that a newer minor version can be read;
// a missing key or another type throws UsageError that names the key by its path ("errors[2].max_q").
#pragma once

#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "core/error.h"

namespace assay {

class JsonFields {
 public:
  // `path` names this object in messages; empty for the document itself. Keeps a reference to `object`.
  explicit JsonFields(const nlohmann::json& object, std::string path = "");

  bool has(const std::string& key) const { return object_->contains(key); }
  bool is_null(const std::string& key) const { return at(key).is_null(); }
  std::string text(const std::string& key) const;
  bool boolean(const std::string& key) const;
  double number(const std::string& key) const;  // a number, "nan", "inf" or "-inf"
  std::vector<int64_t> integers(const std::string& key) const;
  std::vector<std::string> texts(const std::string& key) const;
  JsonFields object(const std::string& key) const;
  std::vector<JsonFields> objects(const std::string& key) const;  // an array of objects
  std::vector<std::string> keys() const;
  const nlohmann::json& json() const { return *object_; }
  const std::string& path() const { return path_; }

  // An integer that fits T; 1.0 is not one.
  template <class T>
  T integer(const std::string& key) const {
    return integer_of<T>(at(key), path_of(key));
  }

  // Throws UsageError: "PATH: PROBLEM".
  [[noreturn]] void fail(const std::string& key, const std::string& problem) const;

 private:
  const nlohmann::json& at(const std::string& key) const;
  const nlohmann::json& array(const std::string& key) const;
  std::string path_of(const std::string& key) const { return path_.empty() ? key : path_ + "." + key; }

  template <class T>
  static T integer_of(const nlohmann::json& value, const std::string& path) {
    using Limits = std::numeric_limits<T>;
    const bool fits = value.is_number_unsigned()  ? std::in_range<T>(value.get<uint64_t>())
                      : value.is_number_integer() ? std::in_range<T>(value.get<int64_t>())
                                                  : false;
    if (!fits) {
      throw UsageError(path + ": not an integer from " + std::to_string(Limits::min()) + " to " +
                       std::to_string(Limits::max()));
    }
    return value.get<T>();
  }

  const nlohmann::json* object_;
  std::string path_;
};

}  // namespace assay
