// A worker as its judge sees it: started when first needed, replaced after it was lost, always bounded by a deadline
// and a memory limit.
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "device/memory.h"
#include "worker/judge_client.h"
#include "worker/process.h"

namespace assay {

// The kernel reported an error from launch, or the worker could not do what was asked, but for want of memory.
struct LaunchFailed : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// A program that the worker runs under, as its child: its arguments, those that name the worker left out. Such a worker
// computes in memory of its own, with inputs copied in, and ends as programs do, so that the tool sees all of it.
struct Tool {
  std::string program;  // empty: none
  std::vector<std::string> arguments;
};

class Subject {
 public:
  // `environment` is added to what the library set asks for.
  Subject(const JudgeSettings& settings, std::vector<std::pair<std::string, std::string>> environment, Tool tool = {});

  // One answer of the worker; starts it when it does not run. Throws ProcessLost, LaunchFailed when the answer is an
  // error, or NotGiven when it is that.
  nlohmann::json ask(const nlohmann::json& message, int file = -1);
  nlohmann::json ask(const nlohmann::json& message, std::chrono::duration<double> deadline);

  // Has the worker, which is started if it does not run, begin with a message. The next ask of this very message waits
  // for the rest; any other first waits for its answer and drops it.
  void begin(const nlohmann::json& message);
  void settle();  // the worker is at work on nothing that was begun

  // Gives the worker the blocks of `regions` that it has not got yet, and has it let go of those that are no more.
  void share(const Memory& memory, const std::vector<Region>& regions);
  // The worker, if it runs, unmaps everything.
  void let_go_of_memory();

  void restart();  // the next ask starts a fresh process
  bool finish();   // the same, after the process was given the time to end by itself: whether it exited
  bool running() const { return process_ != nullptr && !process_->ended(); }
  pid_t pid() const { return running() ? process_->pid() : -1; }
  std::string output_tail() const { return process_ == nullptr ? "" : process_->output_tail(); }
  // Whether its maps are its own: those of one that has not answered yet may be of the process that started it.
  bool has_answered() const { return running() && process_->has_answered(); }
  // Called before a running worker that has answered is ended, while its maps can still be read.
  std::function<void(pid_t)> before_end;

 private:
  ProcessSettings process_settings() const;
  void start();
  void drop_begun(size_t all_but);  // the oldest first; throws as ask does, in step
  nlohmann::json next_answer(std::chrono::duration<double> deadline);
  nlohmann::json ask(const nlohmann::json& message, std::chrono::duration<double> deadline, int file);
  const JudgeSettings* settings_;
  std::vector<std::pair<std::string, std::string>> environment_;
  Tool tool_;
  std::unique_ptr<Process> process_;
  std::deque<nlohmann::json> begun_;  // messages whose answers were not awaited yet
  std::set<uint64_t> shared_;         // blocks the running worker has
  bool has_device_ = false;           // it has answered the first message, which names the device
};

// Ends what `workers` have started, and what was left to this process, but for the workers and the `others`: how many
// processes there were. Where there were any, `workers` begin anew.
size_t end_processes_left_by(const std::vector<Subject*>& workers, const std::vector<Subject*>& others);

}  // namespace assay
