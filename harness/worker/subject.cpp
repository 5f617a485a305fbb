#include "worker/subject.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "core/error.h"

namespace assay {
namespace {

std::string library_path(const JudgeSettings& settings, bool with_set) {
  std::vector<std::string> folders;
  if (with_set) {
    for (const auto& folder : settings.library_set.folders) folders.push_back(folder.string());
  }
  for (const auto& folder : settings.library_path) folders.push_back(folder.string());
  if (const char* inherited = std::getenv("LD_LIBRARY_PATH"); inherited != nullptr && *inherited != '\0') {
    folders.emplace_back(inherited);
  }
  std::string path;
  for (const std::string& folder : folders) path += (path.empty() ? "" : ":") + folder;
  return path;
}

}  // namespace

Subject::Subject(const JudgeSettings& settings, std::vector<std::pair<std::string, std::string>> environment, Tool tool)
    : settings_(&settings), environment_(std::move(environment)), tool_(std::move(tool)) {
  const LibrarySet& set = settings.library_set;
  for (const auto& [name, value] : set.environment) environment_.emplace_back(name, value);
  // A set with a loader of its own has its own libc too, and programs that a kernel starts have the system's loader.
  environment_.emplace_back("LD_LIBRARY_PATH", library_path(settings, set.loader.empty()));
}

ProcessSettings Subject::process_settings() const {
  std::vector<std::string> command;
  if (!tool_.program.empty()) {
    command.push_back(tool_.program);
    command.insert(command.end(), tool_.arguments.begin(), tool_.arguments.end());
  }
  if (const auto& loader = settings_->library_set.loader; !loader.empty()) {
    command.insert(command.end(), {loader.string(), "--library-path", library_path(*settings_, true)});
  }
  command.push_back(settings_->worker_program.string());
  command.push_back(std::to_string(tool_.program.empty() ? ::getpid() : kParentIsATool));
  return {.program = command.front(),
          .arguments = {command.begin() + 1, command.end()},
          .environment = environment_,
          .hosts_kernels = true};
}

void Subject::start() {
  if (running()) return;
  shared_.clear();
  begun_.clear();
  has_device_ = false;
  process_ = std::make_unique<Process>(process_settings());
  begin({{"do", "device"}, {"target", name_of(settings_->device)}, {"private", !tool_.program.empty()}});
}

void Subject::begin(const nlohmann::json& message) {
  start();
  process_->send(message);
  begun_.push_back(message);
}

nlohmann::json Subject::next_answer(std::chrono::duration<double> deadline) {
  nlohmann::json answer = process_->answer(deadline, settings_->memory_limit_bytes);
  const auto error = answer.find("error"), not_given = answer.find("not_given");
  const bool has_device = std::exchange(has_device_, true);
  if (not_given != answer.end()) {
    if (!has_device) process_.reset();
    throw NotGiven(not_given->get<std::string>());
  }
  if (error == answer.end()) return answer;
  if (has_device) throw LaunchFailed(error->get<std::string>());
  process_.reset();  // no kernel had a part in it
  throw Error("a worker cannot begin: " + error->get<std::string>() + "; is there a limit, such as ulimit -v?");
}

void Subject::drop_begun(size_t all_but) {
  while (begun_.size() > all_but) {
    begun_.pop_front();
    next_answer(std::chrono::duration<double>(settings_->deadline_seconds));
  }
}

void Subject::settle() {
  if (running()) drop_begun(0);
}

nlohmann::json Subject::ask(const nlohmann::json& message, std::chrono::duration<double> deadline, int file) {
  start();
  const bool is_begun = !begun_.empty() && begun_.back() == message && file < 0;
  drop_begun(is_begun ? 1 : 0);
  if (is_begun) {
    begun_.pop_front();
  } else {
    process_->send(message, file);
  }
  return next_answer(deadline);
}

nlohmann::json Subject::ask(const nlohmann::json& message, int file) {
  return ask(message, std::chrono::duration<double>(settings_->deadline_seconds), file);
}

nlohmann::json Subject::ask(const nlohmann::json& message, std::chrono::duration<double> deadline) {
  return ask(message, deadline, -1);
}

void Subject::share(const Memory& memory, const std::vector<Region>& regions) {
  std::set<uint64_t> gone = running() ? shared_ : std::set<uint64_t>{};
  for (const Block& block : memory.blocks()) {
    gone.erase(block.id);
    const auto holds = [&](const Region& region) { return region.block == block.id; };
    if (std::none_of(regions.begin(), regions.end(), holds) || (running() && shared_.contains(block.id))) continue;
    ask({{"do", "block"}, {"id", block.id}, {"bytes", block.bytes}}, block.file);
    shared_.insert(block.id);
  }
  if (!gone.empty()) ask({{"do", "forget"}, {"blocks", gone}});
  for (const uint64_t id : gone) shared_.erase(id);
}

void Subject::let_go_of_memory() {
  if (!running() || shared_.empty()) return;
  const auto all = std::exchange(shared_, {});
  try {
    ask({{"do", "forget"}, {"blocks", all}});
  } catch (const ProcessLost&) {
    return;  // so it has let go of everything
  }
}

bool Subject::finish() {
  const std::chrono::duration<double> deadline(settings_->deadline_seconds);
  const bool exited = process_ != nullptr && process_->finish(deadline);
  process_.reset();
  return exited;
}

void Subject::restart() {
  if (has_answered() && before_end) before_end(pid());
  process_.reset();
}

size_t end_processes_left_by(const std::vector<Subject*>& workers, const std::vector<Subject*>& others) {
  size_t seen = 0;
  // What is killed may have started more, which is adopted only when its parent is gone.
  for (int round = 0; round < 50; ++round) {
    std::vector<pid_t> expected, strays;
    for (const std::vector<Subject*>* all : {&workers, &others}) {
      for (const Subject* subject : *all) expected.push_back(subject->pid());
    }
    for (const Subject* worker : workers) {
      for (const pid_t stray : stray_processes(worker->pid(), expected)) {
        if (std::ranges::find(strays, stray) == strays.end()) strays.push_back(stray);
      }
    }
    if (strays.empty() && (round == 0 || round > 3)) break;
    seen += strays.size();
    for (Subject* worker : workers) worker->restart();
    for (const pid_t stray : strays) end_stray_process(stray);
    ::usleep(5000);
  }
  return seen;
}

}  // namespace assay
