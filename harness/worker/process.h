// A child process that dies with its parent, has a channel on descriptor kChannelDescriptor, and whose stdout and
// stderr are kept apart from it: the last few kilobytes are remembered for a crash report.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "worker/channel.h"

namespace assay {

inline constexpr int kChannelDescriptor = 3;
// Instead of its parent's id, for a worker that a tool starts: the tool may have reasons to end before it.
inline constexpr pid_t kParentIsATool = 0;

// How a child ended while an answer was awaited.
enum class Loss { signal, exit, device, timeout, memory, protocol, stopped };

struct ProcessLost : std::runtime_error {
  ProcessLost(Loss how, int number, const std::string& what) : std::runtime_error(what), loss(how), code(number) {}
  Loss loss;
  int code;              // signal number or exit status
  nlohmann::json fault;  // what it sent before the end (protocol.md), or null
};

struct ProcessSettings {
  std::string program;
  std::vector<std::string> arguments;                            // after the program's name
  std::vector<std::pair<std::string, std::string>> environment;  // added to this process's own
  bool hosts_kernels = false;  // it may not look into other processes, and gains no privileges
  bool capture_output = true;  // false: the child shares this process's stderr, and its stdout goes there too
};

class Process {
 public:
  explicit Process(const ProcessSettings& settings);  // throws Error when it cannot be started
  ~Process();                                         // kills it and its process group, and reaps it
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  pid_t pid() const { return pid_; }
  bool ended() const { return pid_ <= 0; }
  // Until it has, it may still be the copy of this process that begins the program, with what this process has mapped.
  bool has_answered() const { return has_answered_; }

  // Sends a message; each has one answer, and they come in order.
  void send(const nlohmann::json& message, int file = -1);
  // Waits for the next answer. Throws ProcessLost when the child ends, breaks the protocol, does not answer before the
  // deadline, or holds more than `memory_limit` bytes of its own (0: no limit); it is dead then. So does send().
  nlohmann::json answer(std::chrono::duration<double> deadline, uint64_t memory_limit);

  // Both, without a deadline; for a child that bounds its own waits. Once `stop_asked` says so the child is killed.
  nlohmann::json request(const nlohmann::json& message, const std::function<bool()>& stop_asked = nullptr);

  void kill();
  // Closes the channel, which asks the child to end, and waits for that; a child that takes longer is killed. Whether
  // it exited, now or before: false when a signal ended it.
  bool finish(std::chrono::duration<double> deadline);
  const std::string& output_tail() const { return output_; }

 private:
  template <class Talk>
  auto talk(const Talk& with);
  nlohmann::json wait_for_answer(std::chrono::duration<double> deadline, uint64_t memory_limit,
                                 const std::function<bool()>& stop_asked);
  [[noreturn]] void lost(Loss loss, const std::string& what);
  [[noreturn]] void ended_by_itself();
  void drain_output();
  pid_t pid_ = -1;
  bool exited_ = false;
  bool has_answered_ = false;
  int output_pipe_ = -1;
  std::string output_;
  nlohmann::json fault_;
  std::unique_ptr<Channel> channel_;
};

// Resident bytes of a process that are its own, not shared with anyone; 0 when unreadable.
uint64_t own_memory(pid_t pid);
// Bytes of addresses that a process has mapped, resident or not; 0 when unreadable.
uint64_t mapped_memory(pid_t pid);
// Descriptors that a process has open; 0 when unreadable.
int64_t open_files(pid_t pid);

// Children of this process (adopted orphans included) and of `of_process`, that are not in `expected`.
std::vector<pid_t> stray_processes(pid_t of_process, const std::vector<pid_t>& expected);

// Kills and reaps one that this process has adopted.
void end_stray_process(pid_t pid);

// Kills and reaps whatever this process has for children, those it adopts meanwhile included, until there are none or,
// for one that does not die, some seconds have passed. Those of which `is_spared` stay.
void end_children(const std::function<bool(pid_t)>& is_spared = [](pid_t) { return false; });
std::vector<pid_t> own_children();

// Processor time that a process has used, in microseconds; 0 of one that is not there, such as -1.
double processor_us(pid_t pid);

// Of a child of this process: it has begun nothing of its own yet, or has ended and waits for whoever started it.
bool is_before_or_after_its_work(pid_t pid);
// What a process was given when it began as an environment variable or as an argument NAME=VALUE, which of a process
// that may not be traced is all that others than root can read; empty: nothing, or not to be known. Of one that has
// just become its program both come a moment later, and are waited for.
std::string given_variable(pid_t pid, std::string_view name);

// Nobody but root and what traces it already may look into this process from now on; nor has it core dumps. Root's
// workers cannot either: ProcessSettings::hosts_kernels.
void close_to_others();

// What orphaned processes below this one come to is this one: nothing that a kernel starts is lost from sight.
void adopt_orphans();

// For a child's main(): the process id that its argument is; nothing when it is none.
std::optional<pid_t> process_id_of(std::string_view text);

// For a child's main(): die when `parent` dies, at once if it already has.
void die_with_parent(pid_t parent);

// The same for a child that has adopted orphans: its death would set them free, so that it ends them first, all its
// other children too. Also on SIGTERM. Call it before there are threads; it starts one.
void end_with_parent(pid_t parent);

}  // namespace assay
