#include "worker/subject.h"

#include <unistd.h>

#include <cstdlib>

namespace assay {
namespace {

std::string library_path(const JudgeSettings& settings) {
  std::string path;
  for (const auto& folder : settings.library_path) path += (path.empty() ? "" : ":") + folder.string();
  if (const char* inherited = std::getenv("LD_LIBRARY_PATH"); inherited != nullptr && *inherited != '\0') {
    path += (path.empty() ? "" : ":") + std::string(inherited);
  }
  return path;
}

}  // namespace

Subject::Subject(const JudgeSettings& settings, std::vector<std::pair<std::string, std::string>> environment)
    : settings_(&settings), environment_(std::move(environment)) {
  environment_.emplace_back("LD_LIBRARY_PATH", library_path(settings));
}

nlohmann::json Subject::ask(const nlohmann::json& message, std::chrono::duration<double> deadline, int file) {
  if (!running()) {
    shared_arena_ = 0;
    process_ = std::make_unique<Process>(ProcessSettings{.program = settings_->worker_program.string(),
                                                         .arguments = {std::to_string(::getpid())},
                                                         .environment = environment_});
  }
  nlohmann::json answer = process_->request(message, deadline, settings_->memory_limit_bytes, file);
  if (const auto error = answer.find("error"); error != answer.end()) throw LaunchFailed(error->get<std::string>());
  return answer;
}

nlohmann::json Subject::ask(const nlohmann::json& message, int file) {
  return ask(message, std::chrono::duration<double>(settings_->deadline_seconds), file);
}

nlohmann::json Subject::ask(const nlohmann::json& message, std::chrono::duration<double> deadline) {
  return ask(message, deadline, -1);
}

void Subject::share(const Arena& arena) {
  if (running() && shared_arena_ == arena.generation()) return;
  ask({{"do", "arena"}}, arena.file());
  shared_arena_ = arena.generation();
}

void Subject::restart() {
  if (running() && before_end) before_end(pid());
  process_.reset();
}

}  // namespace assay
