#include "worker/process.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <set>
#include <thread>

#include "core/clock.h"
#include "core/error.h"
#include "core/number_text.h"
#include "device/layout.h"

extern char** environ;

namespace assay {
namespace {

constexpr size_t kOutputKept = 4096;

std::string signal_name(int number) {
  const char* name = ::sigabbrev_np(number);
  return name == nullptr ? "signal " + std::to_string(number) : "SIG" + std::string(name);
}

// This process's environment with `added` in place of what has the same name.
std::vector<std::string> merged_environment(const std::vector<std::pair<std::string, std::string>>& added) {
  std::vector<std::string> merged;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const auto replaced = [&](const auto& pair) { return text.substr(0, text.find('=')) == pair.first; };
    if (std::none_of(added.begin(), added.end(), replaced)) merged.emplace_back(text);
  }
  for (const auto& [name, value] : added) merged.push_back(name + "=" + value);
  return merged;
}

std::vector<char*> pointers_to(std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  for (std::string& s : strings) pointers.push_back(s.data());
  pointers.push_back(nullptr);
  return pointers;
}

// Root may look into any process, into one that close_to_others() too, by a capability that this process and all that
// come of it have no more. Where there is none to lose, the calls fail, and nothing is lost.
void look_into_no_process() {
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  ::prctl(PR_CAPBSET_DROP, CAP_SYS_PTRACE, 0, 0, 0);
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3]{};
  if (::syscall(SYS_capget, &header, sets) != 0) return;
  __user_cap_data_struct& set = sets[CAP_TO_INDEX(CAP_SYS_PTRACE)];
  for (__u32* bits : {&set.effective, &set.permitted, &set.inheritable}) *bits &= ~CAP_TO_MASK(CAP_SYS_PTRACE);
  ::syscall(SYS_capset, &header, sets);  // the ambient set loses what the others do not have
}

// Between fork and exec: async-signal-safe calls only.
[[noreturn]] void become(char* const* argv, char* const* envp, int channel, int output, pid_t parent,
                         bool hosts_kernels) {
  ::setpgid(0, 0);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);  // what the parent's threads block, the child need not
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(127);
  if (hosts_kernels) look_into_no_process();
  const int nothing = ::open("/dev/null", O_RDONLY);
  ::dup2(nothing, STDIN_FILENO);
  ::dup2(output, STDOUT_FILENO);
  ::dup2(output, STDERR_FILENO);
  if (channel == kChannelDescriptor) {
    ::fcntl(channel, F_SETFD, 0);
  } else {
    ::dup2(channel, kChannelDescriptor);
  }
  ::execve(argv[0], argv, envp);
  ::_exit(127);
}

std::vector<pid_t> children_of(pid_t pid) {
  std::vector<pid_t> children;
  const std::string tasks = "/proc/" + std::to_string(pid) + "/task";
  DIR* folder = ::opendir(tasks.c_str());
  if (folder == nullptr) return children;
  while (const dirent* entry = ::readdir(folder)) {
    if (entry->d_name[0] == '.') continue;
    std::ifstream in(tasks + "/" + entry->d_name + "/children");
    for (pid_t child; in >> child;) children.push_back(child);
  }
  ::closedir(folder);
  return children;
}

// Of entries NAME=VALUE that end with a zero byte; nothing where there is none, or they may not be read.
std::optional<std::string> value_in(const std::string& file, std::string_view name) {
  std::ifstream in(file, std::ios::binary);
  bool any = false;
  for (std::string entry; std::getline(in, entry, '\0'); any = true) {
    if (entry.size() > name.size() && entry[name.size()] == '=' && entry.starts_with(name)) {
      return entry.substr(name.size() + 1);
    }
  }
  return any ? std::optional<std::string>("") : std::nullopt;
}

struct MemoryPages {
  uint64_t total = 0, resident = 0, shared = 0;
};
MemoryPages memory_pages(pid_t pid) {
  std::ifstream in("/proc/" + std::to_string(pid) + "/statm");
  MemoryPages pages;
  in >> pages.total >> pages.resident >> pages.shared;
  return in ? pages : MemoryPages{};
}

}  // namespace

uint64_t own_memory(pid_t pid) {
  const MemoryPages pages = memory_pages(pid);
  return (pages.resident - std::min(pages.shared, pages.resident)) * page_size();
}

uint64_t mapped_memory(pid_t pid) { return memory_pages(pid).total * page_size(); }

int64_t open_files(pid_t pid) {
  std::error_code error;
  int64_t files = 0;
  std::filesystem::directory_iterator file("/proc/" + std::to_string(pid) + "/fd", error);
  for (; !error && file != std::filesystem::directory_iterator(); file.increment(error)) ++files;
  return files;
}

std::vector<pid_t> stray_processes(pid_t of_process, const std::vector<pid_t>& expected) {
  std::vector<pid_t> found = children_of(::getpid());
  for (const pid_t child : children_of(of_process)) found.push_back(child);
  std::erase_if(found, [&](pid_t pid) { return std::find(expected.begin(), expected.end(), pid) != expected.end(); });
  return found;
}

void end_stray_process(pid_t pid) {
  ::kill(pid, SIGKILL);
  while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
  }
}

double processor_us(pid_t pid) {
  clockid_t clock = CLOCK_PROCESS_CPUTIME_ID;
  timespec used{};
  if (pid < 0 || ::clock_getcpuclockid(pid, &clock) != 0 || ::clock_gettime(clock, &used) != 0) return 0;
  return static_cast<double>(used.tv_sec) * 1e6 + static_cast<double>(used.tv_nsec) / 1e3;
}

std::vector<pid_t> own_children() { return children_of(::getpid()); }

bool is_before_or_after_its_work(pid_t pid) {
  std::ifstream in("/proc/" + std::to_string(pid) + "/stat");
  std::string stat;
  std::getline(in, stat);
  const size_t name_ends = stat.rfind(')');
  if (name_ends != std::string::npos && stat.compare(name_ends, 3, ") Z") == 0) return true;
  std::error_code error;
  const auto program = std::filesystem::read_symlink("/proc/" + std::to_string(pid) + "/exe", error);
  return !error && program == std::filesystem::read_symlink("/proc/self/exe");
}

std::string given_variable(pid_t pid, std::string_view name) {
  constexpr int kLongestStartMs = 200, kLongestApartMs = 10;
  const std::string folder = "/proc/" + std::to_string(pid);
  for (int ms = 0; ms < kLongestStartMs; ++ms) {
    const std::optional<std::string> of_arguments = value_in(folder + "/cmdline", name);
    const std::optional<std::string> of_environment = value_in(folder + "/environ", name);
    for (const auto& value : {of_environment, of_arguments}) {
      if (value && !value->empty()) return *value;
    }
    const bool has_begun = of_arguments && (of_environment || ms == kLongestApartMs);
    if (has_begun || !std::filesystem::exists(folder)) return {};
    ::usleep(1000);
  }
  return {};
}

void end_children(const std::function<bool(pid_t)>& is_spared) {
  std::set<pid_t> ended;
  for (int round = 0; round < 5000; ++round) {
    std::vector<pid_t> children = own_children();
    std::erase_if(children, [&](pid_t pid) { return !ended.contains(pid) && is_spared(pid); });
    if (children.empty()) return;
    for (const pid_t child : children) {
      ended.insert(child);
      ::kill(child, SIGKILL);
      ::waitpid(child, nullptr, WNOHANG);  // what it leaves comes here before it can be reaped, and is seen next time
    }
    ::usleep(1000);
  }
}

void close_to_others() { ::prctl(PR_SET_DUMPABLE, 0); }

void adopt_orphans() { ::prctl(PR_SET_CHILD_SUBREAPER, 1); }

std::optional<pid_t> process_id_of(std::string_view text) {
  const std::optional<pid_t> id = number_of<pid_t>(text);
  return id && *id >= 0 ? id : std::nullopt;
}

void end_with_parent(pid_t parent) {
  sigset_t asked_to_end;
  ::sigemptyset(&asked_to_end);
  ::sigaddset(&asked_to_end, SIGTERM);
  ::pthread_sigmask(SIG_BLOCK, &asked_to_end, nullptr);
  std::thread([asked_to_end] {
    int number = 0;
    while (::sigwait(&asked_to_end, &number) != 0) {
    }
    end_children();
    ::_exit(127);
  }).detach();
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != parent) ::_exit(127);
}

void die_with_parent(pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(127);
}

Process::Process(const ProcessSettings& settings) {
  const SocketPair sockets = make_socket_pair();
  int output[2] = {-1, -1};
  if (settings.capture_output) ASSAY_SYSTEM(::pipe2(output, O_CLOEXEC | O_NONBLOCK));
  std::vector<std::string> arguments{settings.program};
  arguments.insert(arguments.end(), settings.arguments.begin(), settings.arguments.end());
  std::vector<std::string> environment = merged_environment(settings.environment);
  const std::vector<char*> argv = pointers_to(arguments);
  const std::vector<char*> envp = pointers_to(environment);
  const pid_t parent = ::getpid();
  channel_ = std::make_unique<Channel>(sockets.ours);
  pid_ = ASSAY_SYSTEM(::fork());
  if (pid_ == 0) {
    const int out = settings.capture_output ? output[1] : STDERR_FILENO;
    become(argv.data(), envp.data(), sockets.theirs, out, parent, settings.hosts_kernels);
  }
  ::setpgid(pid_, pid_);
  ::close(sockets.theirs);
  if (settings.capture_output) {
    ::close(output[1]);
    output_pipe_ = output[0];
  }
}

Process::~Process() {
  kill();
  if (output_pipe_ >= 0) ::close(output_pipe_);
}

void Process::kill() {
  if (pid_ <= 0) return;
  ::kill(-pid_, SIGKILL);
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

bool Process::finish(std::chrono::duration<double> deadline) {
  if (ended()) return exited_;
  channel_.reset();
  const auto start = Clock::now();
  while (Clock::now() - start < deadline) {
    drain_output();
    int status = 0;
    if (const pid_t ended = ::waitpid(pid_, &status, WNOHANG); ended != 0) {
      ::kill(-pid_, SIGKILL);  // what it left in its group
      exited_ = ended == pid_ && WIFEXITED(status);
      pid_ = -1;
      return exited_;
    }
    ::usleep(2000);
  }
  kill();
  return false;
}

void Process::drain_output() {
  if (output_pipe_ < 0) return;
  char bytes[4096];
  for (ssize_t n; (n = ::read(output_pipe_, bytes, sizeof bytes)) > 0;) {
    output_.append(bytes, static_cast<size_t>(n));
    if (output_.size() > 2 * kOutputKept) output_.erase(0, output_.size() - kOutputKept);
  }
}

void Process::lost(Loss loss, const std::string& what) {
  kill();
  drain_output();
  throw ProcessLost(loss, 0, what);
}

void Process::ended_by_itself() {
  int status = 0;
  // The channel is closed: the child is ending, or lives on without it.
  for (int i = 0; i < 200 && ::waitpid(pid_, &status, WNOHANG) == 0; ++i) {
    if (i == 199) lost(Loss::protocol, "closed its channel and went on running");
    ::usleep(10000);
  }
  ::kill(-pid_, SIGKILL);
  pid_ = -1;
  exited_ = WIFEXITED(status);
  drain_output();
  if (fault_.is_object() && fault_.contains("device")) {
    ProcessLost lost(Loss::device, 0, "lost its device: " + fault_.value("device", ""));
    lost.fault = std::move(fault_);
    throw lost;
  }
  if (WIFSIGNALED(status)) {
    ProcessLost lost(Loss::signal, WTERMSIG(status), "died by " + signal_name(WTERMSIG(status)));
    lost.fault = std::move(fault_);
    throw lost;
  }
  throw ProcessLost(Loss::exit, WEXITSTATUS(status), "exited with status " + std::to_string(WEXITSTATUS(status)));
}

// with(), after which a channel that was closed is a child that was lost.
template <class Talk>
auto Process::talk(const Talk& with) {
  if (ended()) throw ProcessLost(Loss::protocol, 0, "is not running");
  try {
    return with();
  } catch (const ChannelClosed& closed) {
    if (std::string(closed.what()).find("JSON") != std::string::npos) lost(Loss::protocol, closed.what());
    ended_by_itself();
  }
}

void Process::send(const nlohmann::json& message, int file) {
  talk([&] { channel_->send(message, file); });
}

nlohmann::json Process::answer(std::chrono::duration<double> deadline, uint64_t memory_limit) {
  return wait_for_answer(deadline, memory_limit, nullptr);
}

nlohmann::json Process::wait_for_answer(std::chrono::duration<double> deadline, uint64_t memory_limit,
                                        const std::function<bool()>& stop_asked) {
  const auto start = Clock::now();
  return talk([&] {
    while (true) {
      if (auto answer = channel_->poll()) {
        has_answered_ = true;
        if (!answer->contains("fault")) return std::move(*answer);
        fault_ = std::move((*answer)["fault"]);
      }
      pollfd waits[2] = {{channel_->socket(), POLLIN, 0}, {output_pipe_, POLLIN, 0}};
      ::poll(waits, output_pipe_ < 0 ? 1 : 2, 20);
      drain_output();
      if (stop_asked && stop_asked()) lost(Loss::stopped, "was stopped");
      const std::chrono::duration<double> waited = Clock::now() - start;
      if (waited > deadline)
        lost(Loss::timeout, "gave no answer within " + fmt::format("{:g}", deadline.count()) + " s");
      if (waited.count() > 0.015 && memory_limit != 0 && own_memory(pid_) > memory_limit) {
        lost(Loss::memory, "held more than " + std::to_string(memory_limit >> 20) + " MiB of its own");
      }
      siginfo_t info{};
      if (::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == pid_ &&
          !(waits[0].revents & POLLIN)) {
        ended_by_itself();  // a process of its own may still hold the channel open
      }
    }
  });
}

nlohmann::json Process::request(const nlohmann::json& message, const std::function<bool()>& stop_asked) {
  send(message);
  return wait_for_answer(std::chrono::duration<double>(1e9), 0, stop_asked);
}

}  // namespace assay
