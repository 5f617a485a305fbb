// The judge's processes and those it starts: what they may see, load and need, and what becomes of the others when one
// ends.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <future>
#include <iostream>
#include <set>

#include "bad_module_checks.h"
#include "scratch.h"
#include "worker/process.h"

namespace assay {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::Not;
using ::testing::SizeIs;

using bad::concluded;
using bad::details;
using bad::kNormal;
using bad::module_named;

JudgeSettings settings() { return bad::settings(Device::cpu, 5); }

// A user's processes are protected by other means than root's.
TEST(JudgeProcesses, NobodysWorkerMayLookIntoJudgeOrCoordinatorEither) {
  if (::getuid() != 0) GTEST_SKIP() << "is another user already: see BadModule of look_into_others";
  const pid_t child = ::fork();
  if (child == 0) {
    constexpr int kNobody = 65534;
    if (::setgid(kNobody) != 0 || ::setuid(kNobody) != 0) ::_exit(2);
    ::prctl(PR_SET_DUMPABLE, 1);  // as a program that its user has started
    JudgeClient judge(settings());
    const Record record = bad::check(judge, "look_into_others", kNormal);
    if (record.verdict != Verdict::pass) std::cerr << details(record);
    ::_exit(record.verdict == Verdict::pass ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(JudgeProcesses, TwoModulesOfOneFileNameAreRefusedForTheirLibrariesWouldBeConfused) {
  const Scratch scratch;
  const std::filesystem::path first = module_named("good"), second = scratch.path / "good.so";
  std::filesystem::copy(first, second);
  JudgeClient judge(settings());
  judge.load(first);
  const std::string said = message_of([&] { judge.load(second); });
  EXPECT_THAT(said, AllOf(HasSubstr(first.string()), HasSubstr(second.string()), HasSubstr("rename one")));
  EXPECT_EQ(judge.load(first).size(), 1u) << "once more is no other";
}

TEST(JudgeProcesses, PreparesInTheProcessThatTimesAndLaunchesNothing) {
  const Scratch scratch;
  const std::filesystem::path lazy = scratch.path / "load_late.so";
  std::filesystem::copy(module_named("late_1"), scratch.path / "late.so");
  std::filesystem::copy(module_named("load_late"), lazy);
  JudgeClient from(settings()), judge(settings());
  const KernelInfo kernel = from.load(lazy).at(0);
  const OpRegistry ops = make_op_registry();
  const Case c = ops.parse_case(kNormal);
  const auto has = [&](const char* file) {
    return std::ranges::any_of(judge.libraries(), [&](const auto& one) { return one.path.ends_with(file); });
  };
  judge.prepare(kernel, c);
  EXPECT_TRUE(has("load_late.so"));
  EXPECT_FALSE(has("/late.so")) << "it launched";
  EXPECT_EQ(judge.time(kernel, c, {}).failed, "");
  EXPECT_TRUE(has("/late.so"));
}

TEST(JudgeProcesses, OneThatEndsSparesThoseThatOthersAreStarting) {
  const auto start_and_end = [] {
    for (int i = 0; i < 100; ++i) JudgeClient judge(settings());
  };
  auto other = std::async(std::launch::async, start_and_end);
  EXPECT_NO_THROW(start_and_end());
  EXPECT_NO_THROW(other.get());
}

// A fresh worker is started beside one that dies, and is a copy of the judge for a moment.
TEST(JudgeProcesses, NoLibraryOfTheJudgeIsTakenForAWorkers) {
  JudgeClient judge(settings());
  for (int i = 0; i < 20; ++i) {
    const Record record = bad::check(judge, "segfault", kNormal);
    EXPECT_EQ(record.verdict, Verdict::crashed) << details(record);
    EXPECT_THAT(record.late_libraries, IsEmpty());
  }
}

// Else it would be one that every kernel computes with, and its threads would be bound as that library likes.
TEST(JudgeProcesses, AWorkerBringsNoLibraryOfThreads) {
  JudgeClient judge(settings());
  judge.load(module_named("good"));
  const std::vector<pid_t> workers = stray_processes(judge.pid(), own_children());
  ASSERT_THAT(workers, Not(IsEmpty()));
  std::ifstream in("/proc/" + std::to_string(workers[0]) + "/maps");
  const std::string maps(std::istreambuf_iterator<char>(in), {});
  EXPECT_THAT(maps, HasSubstr("libstdc++"));
  EXPECT_THAT(maps, Not(HasSubstr("libgomp")));
}

TEST(JudgeProcesses, WhatFailsWhenItIsPreparedIsToldWhenItIsTimed) {
  JudgeClient from(settings()), judge(settings());
  KernelInfo kernel = from.load(module_named("good")).at(0);
  kernel.module = module_named("crash_in_prepare");
  const OpRegistry ops = make_op_registry();
  const Case c = ops.parse_case(kNormal);
  EXPECT_NO_THROW(judge.prepare(kernel, c));
  EXPECT_THAT(judge.time(kernel, c, {}).failed, HasSubstr("SIGABRT"));
}

// Each worker of the judge that is not among `seen`, until the judge has answered: how many there were.
template <class Answer>
int kill_workers_until_ready(const std::future<Answer>& answer, const JudgeClient& judge, std::vector<pid_t> seen) {
  int killed = 0;
  while (answer.wait_for(std::chrono::milliseconds(300)) != std::future_status::ready) {
    for (const pid_t worker : stray_processes(judge.pid(), seen)) {
      ::kill(worker, SIGKILL);
      seen.push_back(worker);
      ++killed;
    }
  }
  return killed;
}

// Somebody else did that, and the case is owed its samples.
TEST(JudgeProcesses, ATimingWorkerThatIsKilledIsAskedOnceMore) {
  JudgeClient judge(settings());
  const KernelInfo kernel = judge.load(module_named("infinite_loop")).at(0);
  std::vector<pid_t> seen = stray_processes(judge.pid(), {judge.pid()});
  seen.push_back(judge.pid());
  auto timed =
      std::async(std::launch::async, [&] { return judge.time(kernel, make_op_registry().parse_case(kNormal), {}); });
  EXPECT_EQ(kill_workers_until_ready(timed, judge, std::move(seen)), 2);
  EXPECT_THAT(timed.get().failed, HasSubstr("SIGKILL"));
}

TEST(JudgeProcesses, OneThatIsKilledWhileACaseIsScreenedIsAskedOnceMore) {
  JudgeClient judge(settings());
  const KernelInfo kernel = judge.load(module_named("infinite_loop")).at(0);
  std::vector<pid_t> seen = own_children();
  for (const pid_t worker : stray_processes(judge.pid(), seen)) seen.push_back(worker);
  judge.load(module_named("good"));  // whose worker takes the place of the one that was there
  const std::vector<Case> cases{make_op_registry().parse_case(kNormal)};
  auto screened = std::async(std::launch::async, [&] { return judge.screen(kernel, cases, Verification::freivalds); });
  EXPECT_EQ(kill_workers_until_ready(screened, judge, std::move(seen)), 2);
  EXPECT_THAT(screened.get().at(0).reason, HasSubstr("SIGKILL"));
}

TEST(JudgeProcesses, OneThatIsKilledWhileItSamplesIsAskedOnceMore) {
  const Scratch scratch;
  JudgeClient judge(settings());
  const KernelInfo kernel = judge.load(module_named("good")).at(0);
  std::vector<pid_t> others = own_children();  // and the worker that judges
  for (const pid_t worker : stray_processes(judge.pid(), others)) others.push_back(worker);
  Record record;
  auto sampled = std::async(std::launch::async, [&] {
    judge.sample(kernel, make_op_registry().parse_case(kNormal),
                 {.warm_samples = 1 << 30, .seconds_at_most = 0.5, .samples_folder = scratch.path}, record);
  });
  std::vector<pid_t> timing;
  while (timing.empty() && sampled.wait_for(std::chrono::microseconds(100)) != std::future_status::ready) {
    timing = stray_processes(judge.pid(), others);
  }
  ASSERT_THAT(timing, SizeIs(1)) << "it has sampled already";
  ::kill(timing[0], SIGKILL);
  EXPECT_NO_THROW(sampled.get());
  EXPECT_THAT(record.latency, Not(IsEmpty()));
}

// What the kernel says of a process: "Cpus_allowed_list:	0-1".
std::string processors_of(pid_t pid) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("Cpus_allowed_list:")) return line;
  }
  return "";
}

TEST(JudgeProcesses, ATimingWorkerThatIsKilledBetweenTurnsIsReplaced) {
  JudgeClient judge(settings());
  const KernelInfo kernel = judge.load(module_named("good")).at(0);
  std::vector<pid_t> seen = stray_processes(judge.pid(), {judge.pid()});
  seen.push_back(judge.pid());
  ASSERT_EQ(judge.time(kernel, make_op_registry().parse_case(kNormal), {}).failed, "");
  const std::vector<pid_t> timing = stray_processes(judge.pid(), seen);
  ASSERT_EQ(timing.size(), 1u);
  EXPECT_EQ(processors_of(timing[0]), processors_of(::getpid())) << "its kernels' threads may run nowhere else";
  ::kill(timing[0], SIGKILL);
  const SentinelTime replaced = judge.sentinel();
  EXPECT_EQ(replaced.failed, "");
  EXPECT_GT(replaced.us, 0);
  ::kill(stray_processes(judge.pid(), seen).at(0), SIGSEGV);
  EXPECT_THAT(judge.sentinel().failed, HasSubstr("SIGSEGV"));
}

std::set<std::string> names_in(const std::string& environment) {
  std::ifstream in(environment, std::ios::binary);
  std::set<std::string> names;
  for (std::string entry; std::getline(in, entry, '\0');) names.insert(entry.substr(0, entry.find('=')));
  return names;
}

TEST(JudgeProcesses, AWorkerIsNotToldByANameInItsEnvironmentThatItTimes) {
  JudgeClient judge(settings());
  const KernelInfo kernel = judge.load(module_named("good")).at(0);  // in a worker that judges
  judge.prepare(kernel, make_op_registry().parse_case(kNormal));
  std::vector<pid_t> workers = stray_processes(judge.pid(), own_children());
  ASSERT_THAT(workers, SizeIs(2));
  const auto names = [&](size_t i) { return names_in("/proc/" + std::to_string(workers[i]) + "/environ"); };
  EXPECT_THAT(names(0), IsSupersetOf({"GOMP_SPINCOUNT", "LD_LIBRARY_PATH"}));
  EXPECT_EQ(names(0), names(1));
}

TEST(JudgeProcesses, ALibraryThatIsReplacedDuringARunIsAnother) {
  const Scratch scratch;
  const std::filesystem::path late = scratch.path / "late.so", lazy = scratch.path / "load_late.so";
  std::filesystem::copy(module_named("load_late"), lazy);
  JudgeClient judge(settings());
  const OpRegistry ops = make_op_registry();
  const auto loaded_late = [&](const std::string& build) {
    std::filesystem::copy(module_named("late_" + build), late, std::filesystem::copy_options::overwrite_existing);
    const std::vector<std::string> all = judge.check(judge.load(lazy).at(0), ops.parse_case(kNormal)).late_libraries;
    judge.load(module_named("good"));  // ends the processes of the other
    return std::set<std::string>(all.begin(), all.end());
  };
  const std::set<std::string> one = loaded_late("1");
  EXPECT_THAT(one, ElementsAre(HasSubstr("late.so ")));
  EXPECT_EQ(loaded_late("1"), one) << "the same again";
  EXPECT_THAT(loaded_late("2"), AllOf(SizeIs(2), IsSupersetOf(one)));
}

TEST(JudgeProcesses, ACaseThatFitsAddressesButNotMemoryIsNotBegun) {
  const OpRegistry ops = make_op_registry();
  JudgeClient judge(settings());
  const auto kernel = judge.load(module_named("good")).at(0);
  try {
    // 256 GiB of input: half of what can be addressed.
    judge.check(kernel, ops.parse_case("reduce:kind=max,outer=1,n=68719476736,dtype=f32"));
    ADD_FAILURE() << "was judged";
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("MiB are available"), std::string::npos) << e.what();
  }
  EXPECT_EQ(concluded(judge.check(kernel, ops.parse_case(kNormal))).verdict, Verdict::pass) << "the judge goes on";
}

TEST(JudgeProcesses, OnlyAProcessIdIsTakenForItsParents) {
  EXPECT_EQ(process_id_of("4711"), 4711);
  EXPECT_EQ(process_id_of(std::to_string(kParentIsATool)), kParentIsATool);
  for (const char* none : {"", "-1", "+1", " 1", "1 ", "12x", "x", "99999999999999999999"}) {
    EXPECT_EQ(process_id_of(none), std::nullopt) << none;
  }
}

TEST(JudgeProcesses, AWorkerKilledFromOutsideCostsNothing) {
  const OpRegistry ops = make_op_registry();
  JudgeClient judge(settings());
  const auto kernel = judge.load(module_named("good")).at(0);
  const Case c = ops.parse_case(kNormal);
  const Record before = concluded(judge.check(kernel, c));
  for (const pid_t worker : stray_processes(judge.pid(), {judge.pid()})) ::kill(worker, SIGKILL);
  const Record after = concluded(judge.check(kernel, c));
  EXPECT_EQ(after.verdict, Verdict::pass) << details(after);
  EXPECT_EQ(after.output_hash, before.output_hash);
}

}  // namespace
}  // namespace assay
