// A run that is stopped by a signal: at once, whatever is under way; what was recorded stays, and no process is left.
// Uses the real judge and workers with the modules of bad_modules/.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <thread>
#include <tuple>
#include <utility>

#include "cli_fixture.h"
#include "record/run_folder.h"

namespace assay {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// The command beside this process.
class Started {
 public:
  Started(std::vector<std::string> words, const fs::path& output) {
    words.insert(words.begin(), kAssay);
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, output.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
    posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
    if (::posix_spawn(&pid_, kAssay.c_str(), &actions, nullptr, arguments.data(), environ) != 0) pid_ = -1;
    posix_spawn_file_actions_destroy(&actions);
  }
  ~Started() {
    if (pid_ > 0) ::kill(pid_, SIGKILL);
    if (pid_ > 0) ::waitpid(pid_, nullptr, 0);
  }
  Started(const Started&) = delete;
  Started& operator=(const Started&) = delete;

  pid_t pid() const { return pid_; }
  // Its exit code.
  int stopped_by(int signal) {
    ::kill(pid_, signal);
    int status = 0;
    const pid_t ended = ::waitpid(std::exchange(pid_, -1), &status, 0);
    return ended > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

 private:
  pid_t pid_ = -1;
};

bool comes_true(const std::function<bool()>& what) {
  for (int i = 0; i < 600 && !what(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(50));
  return what();
}

// Processes that a process has started, and those that they have.
std::vector<pid_t> descendants(pid_t pid) {
  std::vector<pid_t> all;
  std::error_code error;
  const fs::path tasks = "/proc/" + std::to_string(pid) + "/task";
  for (fs::directory_iterator task(tasks, error), end; !error && task != end; task.increment(error)) {
    std::ifstream in(task->path() / "children");
    for (pid_t child; in >> child;) {
      all.push_back(child);
      const std::vector<pid_t> below = descendants(child);
      all.insert(all.end(), below.begin(), below.end());
    }
  }
  return all;
}

// What has ended and waits for whoever reaps it is not.
bool is_alive(pid_t pid) {
  const std::string stat = content_of("/proc/" + std::to_string(pid) + "/stat");
  const size_t name_ends = stat.rfind(") ");
  return name_ends != std::string::npos && stat[name_ends + 2] != 'Z' && stat[name_ends + 2] != 'X';
}

double seconds_of(const std::function<void()>& action) {
  const auto begin = std::chrono::steady_clock::now();
  action();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

constexpr double kSoon = 3;  // seconds: one or two, and a busy machine

TEST_F(Cli, AnInterruptSaysHowToGoOn) {
  for (const auto& [option, value] : {std::pair{"--tier", "ci"}, {"--fuzz", "3600s"}}) {
    run = (folder / option).string();
    const fs::path output = folder / "output";
    Started long_run({"check", "--module", module("good"), option, value, "--out", run}, output);
    const auto recorded = [&] {
      std::error_code error;
      const auto size = fs::file_size(run + "/records.jsonl", error);
      return !error && size > 0;
    };
    ASSERT_TRUE(comes_true(recorded)) << content_of(output);
    EXPECT_EQ(long_run.stopped_by(SIGTERM), 128 + SIGTERM) << option;
    EXPECT_THAT(content_of(output),
                AllOf(HasSubstr("stopped with "), HasSubstr("with: " + kAssay + " check --resume '" + run + "'")));
    EXPECT_FALSE(read_run(run).exit_code.has_value()) << option;
    EXPECT_GT(read_records(run).size(), 0u) << option;
  }
}

// One case of very many launches, and one launch that does not end: neither is waited for.
TEST_F(Cli, AnInterruptEndsTheCaseUnderWayAndLosesNoOther) {
  const std::string before = "reduce/bad:kind=max,n=1,dtype=f32", endless = kCase + ",seeds=65536";
  for (const auto& [name, under_way, signal] : std::vector<std::tuple<std::string, std::string, int>>{
           {"good", endless, SIGINT}, {"good", endless, SIGTERM}, {"infinite_loop", kCase, SIGINT}}) {
    run = (folder / (name + std::to_string(signal))).string();
    const fs::path output = folder / "output";
    std::vector<std::string> words{"check", "--module", module(name), "--out", run};
    if (name == "good") words.insert(words.end(), {"--filter", before});
    words.insert(words.end(), {"--filter", under_way});
    Started endless_run(words, output);
    const auto is_at_it = [&] {
      return fs::exists(run + "/run.json") && (name != "good" || !content_of(run + "/records.jsonl").empty());
    };
    ASSERT_TRUE(comes_true(is_at_it)) << content_of(output);
    std::this_thread::sleep_for(std::chrono::seconds(1));
    const std::vector<pid_t> processes = descendants(endless_run.pid());
    EXPECT_GE(processes.size(), 2u) << "judge and worker";
    int code = 0;
    EXPECT_LT(seconds_of([&] { code = endless_run.stopped_by(signal); }), kSoon) << name;
    EXPECT_EQ(code, 128 + signal) << content_of(output);
    EXPECT_THAT(content_of(output), HasSubstr("; continue with: ")) << name;
    for (const pid_t pid : processes) EXPECT_FALSE(is_alive(pid)) << "left behind: " << pid;
    const std::vector<Record> records = read_records(run);
    ASSERT_EQ(records.size(), name == "good" ? 1u : 0u);
    for (const Record& record : records) EXPECT_EQ(record.kernel_id, before);
    EXPECT_FALSE(read_run(run).exit_code.has_value());
  }
}

TEST_F(Cli, AnInterruptEndsTheLoadingOfAModule) {
  const fs::path output = folder / "output";
  Started loading({"check", "--module", module("load_forever"), "--out", run}, output);
  ASSERT_TRUE(comes_true([&] { return descendants(loading.pid()).size() >= 2; })) << content_of(output);
  const std::vector<pid_t> processes = descendants(loading.pid());
  int code = 0;
  EXPECT_LT(seconds_of([&] { code = loading.stopped_by(SIGINT); }), kSoon);
  EXPECT_EQ(code, 128 + SIGINT);
  EXPECT_EQ(content_of(output), "assay: stopped\n");
  for (const pid_t pid : processes) EXPECT_FALSE(is_alive(pid)) << "left behind: " << pid;
  EXPECT_FALSE(fs::exists(run));
}

}  // namespace
}  // namespace assay
