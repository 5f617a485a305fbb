// A worker as its judge asks it: answers stay with their messages, whatever was begun before. A real worker.
#include "worker/subject.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bad_module_checks.h"
#include "load/elf.h"
#include "worker/process.h"

namespace assay {
namespace {

using nlohmann::json;

class SubjectTest : public testing::Test {
 protected:
  const JudgeSettings settings_ = bad::settings(Device::cpu, 5);
  Subject subject_{settings_, {}};
  const json load_{{"do", "load"}, {"module", bad::module_named("good").string()}};
  const json idle_{{"do", "forget"}, {"blocks", json::array()}}, nonsense_{{"do", "nonsense"}};

  // Each answer is the one to its message.
  void expect_in_step() {
    EXPECT_EQ(subject_.ask(idle_), json({{"ok", true}}));
    EXPECT_EQ(subject_.ask(load_).at("kernels").size(), 1u);
    EXPECT_EQ(subject_.ask(idle_), json({{"ok", true}}));
  }
};

TEST_F(SubjectTest, AskingWhatWasBegunWaitsForTheRest) {
  subject_.begin(load_);
  EXPECT_TRUE(subject_.running());
  EXPECT_EQ(subject_.ask(load_).at("kernels").size(), 1u);
  expect_in_step();
}

TEST_F(SubjectTest, AskingAnythingElseDropsWhatWasBegun) {
  subject_.begin(load_);
  subject_.begin(load_);
  EXPECT_EQ(subject_.ask(idle_), json({{"ok", true}}));
  expect_in_step();
}

TEST_F(SubjectTest, SettlingWaitsForWhatWasBegun) {
  subject_.settle();
  EXPECT_FALSE(subject_.running());
  subject_.begin(load_);
  subject_.settle();
  expect_in_step();
}

TEST_F(SubjectTest, AnErrorOfWhatWasBegunIsToldOnceAndLeavesTheNextInStep) {
  subject_.begin(nonsense_);
  EXPECT_THROW(subject_.ask(idle_), LaunchFailed);
  expect_in_step();
}

TEST_F(SubjectTest, AWorkerThatDiesOverWhatWasBegunIsLostAndReplaced) {
  subject_.begin(load_);
  const pid_t first = subject_.pid();
  ASSERT_EQ(::kill(first, SIGKILL), 0);
  EXPECT_THROW(
      {
        subject_.ask(idle_);
        subject_.ask(idle_);  // where the answers were on their way already
      },
      ProcessLost);
  expect_in_step();
  EXPECT_NE(subject_.pid(), first);
}

TEST_F(SubjectTest, ARestartForgetsWhatWasBegun) {
  subject_.begin(load_);
  subject_.restart();
  EXPECT_FALSE(subject_.running());
  expect_in_step();
}

// A judge may not be traced, so that none but root can read its environment. Looked for as soon as the program is
// there.
TEST(GivenVariable, IsFoundAmongEnvironmentOrArguments) {
  const auto found_in = [](std::string argument, std::string variable) {
    std::string words[] = {"sh", "-c", "kill -STOP $$", std::move(argument)};
    char* const arguments[] = {words[0].data(), words[1].data(), words[2].data(), words[3].data(), nullptr};
    char* const environment[] = {variable.data(), nullptr};
    const pid_t child = ::fork();
    if (child == 0) {
      ::execve("/bin/sh", arguments, environment);
      ::_exit(1);
    }
    while (is_before_or_after_its_work(child)) {
    }
    const std::string found = given_variable(child, "ASSAY_X");
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    return found;
  };
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(found_in("ASSAY_X=one", "Y=Z"), "one");
    EXPECT_EQ(found_in("Y=Z", "ASSAY_X=two"), "two");
    EXPECT_EQ(found_in("ASSAY_X", "ASSAY_XY=three"), "");
  }
}

// What a process maps that was forked and has not begun its program yet is its parent's.
TEST(Subject, HasMapsOfItsOwnOnceItHasAnswered) {
  const JudgeSettings settings = bad::settings(Device::cpu, 5);
  Subject subject(settings, {});
  std::vector<pid_t> ended;
  subject.before_end = [&](pid_t pid) { ended.push_back(pid); };
  const nlohmann::json load{{"do", "load"}, {"module", bad::module_named("good").string()}};
  subject.begin(load);
  EXPECT_TRUE(subject.running());
  EXPECT_FALSE(subject.has_answered());
  subject.restart();
  EXPECT_TRUE(ended.empty());
  subject.begin(load);
  subject.settle();
  EXPECT_TRUE(subject.has_answered());
  const pid_t pid = subject.pid();
  subject.restart();
  EXPECT_EQ(ended, std::vector<pid_t>{pid});
  EXPECT_FALSE(subject.has_answered());
}

// Here the system's own one, named as a set's would be: the worker is its argument, and what it has loaded is told as
// ever.
TEST(SubjectUnderALoader, IsAWorkerLikeAnyOther) {
  JudgeSettings settings = bad::settings(Device::cpu, 5);
  settings.library_set = {.library = "tiny", .version = "1"};
  settings.library_set.loader = interpreter_of(settings.worker_program);
  settings.library_set.environment = {{"TINY_CORE", "small"}};
  ASSERT_FALSE(settings.library_set.loader.empty());
  Subject subject(settings, {});
  EXPECT_EQ(subject.ask({{"do", "load"}, {"module", bad::module_named("good").string()}}).at("kernels").size(), 1u);
  EXPECT_EQ(given_variable(subject.pid(), "TINY_CORE"), "small");
  const std::vector<std::string> mapped = mapped_files(subject.pid());
  EXPECT_THAT(mapped, testing::Contains(std::filesystem::canonical(settings.library_set.loader).string()));
  EXPECT_THAT(mapped, testing::Contains(std::filesystem::canonical(settings.worker_program).string()));
  EXPECT_EQ(std::filesystem::read_symlink("/proc/" + std::to_string(subject.pid()) + "/exe"),
            std::filesystem::canonical(settings.library_set.loader));
}

TEST(SubjectUnderALoader, ThatIsNoneIsAWorkerThatIsLost) {
  JudgeSettings settings = bad::settings(Device::cpu, 5);
  settings.library_set = {.library = "tiny", .version = "1", .loader = "/no/such/loader"};
  Subject subject(settings, {});
  EXPECT_THROW(subject.ask({{"do", "load"}, {"module", bad::module_named("good").string()}}), ProcessLost);
}

// The set's folders come before the build's and what was inherited.
TEST(SubjectUnderASet, LooksIntoItsFoldersFirst) {
  JudgeSettings settings = bad::settings(Device::cpu, 5);
  settings.library_path = {"/of/the/build"};
  settings.library_set = {.library = "tiny", .version = "1", .folders = {"/of/the/set"}};
  Subject subject(settings, {});
  subject.ask({{"do", "load"}, {"module", bad::module_named("good").string()}});
  EXPECT_THAT(given_variable(subject.pid(), "LD_LIBRARY_PATH"), testing::StartsWith("/of/the/set:/of/the/build"));
}

}  // namespace
}  // namespace assay
