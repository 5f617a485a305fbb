#include "gate/program.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <sstream>

#include "core/error.h"

namespace assay {
namespace {

std::vector<std::string> environment_with(const std::map<std::string, std::string>& added) {
  std::vector<std::string> all;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    if (!added.contains(text.substr(0, text.find('=')))) all.push_back(text);
  }
  for (const auto& [name, value] : added) all.push_back(name + "=" + value);
  return all;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> list;
  for (std::string& text : texts) list.push_back(text.data());
  list.push_back(nullptr);
  return list;
}

}  // namespace

ProgramEnd run_program(const std::vector<std::string>& command, const std::map<std::string, std::string>& environment,
                       const std::function<bool()>& stop_asked) {
  int ends[2];
  ASSAY_SYSTEM(::pipe2(ends, O_CLOEXEC));
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
  std::vector<std::string> arguments = command, variables = environment_with(environment);
  pid_t pid = 0;
  const int failed = ::posix_spawnp(&pid, command.at(0).c_str(), &actions, nullptr, pointers(arguments).data(),
                                    pointers(variables).data());
  posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  ProgramEnd end;
  if (failed != 0) {
    ::close(ends[0]);
    end.status = 127;
    end.output = command[0] + ": " + std::strerror(failed);
    return end;
  }
  char buffer[4096];
  for (bool is_told = false;;) {
    constexpr int kMilliseconds = 100;  // a signal that another thread of this process took ends no wait here
    pollfd output{ends[0], POLLIN, 0};
    if (stop_asked && !is_told && ::poll(&output, 1, kMilliseconds) <= 0) {
      is_told = stop_asked();
      if (is_told) ::kill(pid, SIGTERM);
      continue;
    }
    const ssize_t got = ::read(ends[0], buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    end.output.append(buffer, static_cast<size_t>(got));
  }
  ::close(ends[0]);
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  end.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return end;
}

std::vector<std::string> lines_of(const std::string& output) {
  std::vector<std::string> lines;
  std::istringstream in(output);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::string shell_quoted(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string shell_word(const std::string& text) {
  const auto is_plain = [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '/' || c == '.' || c == '_' || c == '-';
  };
  return !text.empty() && std::all_of(text.begin(), text.end(), is_plain) ? text : shell_quoted(text);
}

std::string with_program_named(std::string text, const std::string& program, const std::string& arguments) {
  static constexpr std::string_view kAdvice = "'assay ";
  const std::string named = "'" + shell_word(program) + " ";
  for (size_t at = 0; (at = text.find(kAdvice, at)) != std::string::npos; at += named.size()) {
    const size_t end = text.find('\'', at + kAdvice.size());
    if (end != std::string::npos) text.insert(end, arguments);
    text.replace(at, kAdvice.size(), named);
  }
  return text;
}

}  // namespace assay
