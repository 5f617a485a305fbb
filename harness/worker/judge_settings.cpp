#include "worker/judge_settings.h"

#include <nlohmann/json.hpp>

#include "core/error.h"

namespace assay {

using nlohmann::json;

json to_json(const JudgeSettings& settings) {
  json folders = json::array();
  for (const auto& folder : settings.library_path) folders.push_back(folder.string());
  return {{"worker_program", settings.worker_program.string()},
          {"library_path", folders},
          {"library_set", to_json(settings.library_set)},
          {"oracle_cache", settings.oracle_cache.string()},
          {"device", name_of(settings.device)},
          {"sanitizer", settings.sanitizer ? name_of(*settings.sanitizer) : ""},
          {"sanitizer_program", settings.sanitizer_program.string()},
          {"elements_on_device", settings.elements_on_device},
          {"products_verified", settings.products_verified},
          {"threads", settings.threads},
          {"deadline_seconds", settings.deadline_seconds},
          {"memory_limit_bytes", settings.memory_limit_bytes}};
}

JudgeSettings judge_settings_from_json(const json& value) {
  JudgeSettings settings;
  settings.worker_program = value.at("worker_program").get<std::string>();
  for (const json& folder : value.at("library_path")) settings.library_path.emplace_back(folder.get<std::string>());
  settings.library_set = library_set_from_json(value.at("library_set"));
  settings.oracle_cache = value.at("oracle_cache").get<std::string>();
  settings.device = device_named(value.at("device").get<std::string>());
  if (const std::string why = why_unusable(settings.device); !why.empty()) {
    throw UsageError("--device " + std::string(name_of(settings.device)) + ": " + why);
  }
  if (const std::string tool = value.at("sanitizer"); !tool.empty()) settings.sanitizer = sanitizer_named(tool);
  settings.sanitizer_program = value.at("sanitizer_program").get<std::string>();
  settings.elements_on_device = value.at("elements_on_device");
  settings.products_verified = value.at("products_verified");
  settings.threads = value.at("threads");
  settings.deadline_seconds = value.at("deadline_seconds");
  settings.memory_limit_bytes = value.at("memory_limit_bytes");
  return settings;
}

}  // namespace assay
