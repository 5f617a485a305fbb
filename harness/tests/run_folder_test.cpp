// record/: the run folder, whatever happens to it: torn, full, malformed, killed while it is written.
#include "record/run_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <iostream>
#include <random>

#include "core/error.h"
#include "record/json.h"
#include "record/json_text.h"
#include "sample_run.h"
#include "scratch.h"

namespace assay {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

TEST(RunFolder, RecordsSurviveAndResumeRepeatsNothing) {
  Scratch scratch;
  const fs::path out = scratch.path / "deep" / "run";
  {
    RunFolder folder = RunFolder::create(out);
    folder.append(whole_record("op/k:m=1"));
    folder.append(whole_record("op/k:m=2"));
    folder.write_run(sample_run());
    EXPECT_THROW(folder.append(whole_record("op/k:m=1")), Error);
    EXPECT_TRUE(fs::is_directory(folder.samples()));
  }
  RunFolder folder = RunFolder::resume(out);
  EXPECT_EQ(folder.recorded(), (std::set<std::string>{"op/k:m=1", "op/k:m=2"}));
  folder.append(whole_record("op/k:m=3"));
  EXPECT_THROW(folder.append(whole_record("op/k:m=2")), Error);
  EXPECT_EQ(read_records(out).size(), 3u);
  EXPECT_EQ(read_run(out).planned, 3);
  EXPECT_FALSE(fs::exists(out / "run.json.part"));
}

TEST(RunFolder, TornLastLineIsDroppedWhereverItIsCut) {
  Scratch scratch;
  { RunFolder::create(scratch.path / "r").append(whole_record("op/k:m=1")); }
  const fs::path file = scratch.path / "r" / "records.jsonl";
  const std::string first = content_of(file);
  std::string second = print_json(to_json(whole_record("op/k:m=2"))) + "\n";
  for (size_t cut = 1; cut < second.size(); cut += 7) {
    write_text(file, first + second.substr(0, cut));
    EXPECT_EQ(read_records(scratch.path / "r").size(), 1u);
    RunFolder folder = RunFolder::resume(scratch.path / "r");
    EXPECT_EQ(folder.recorded().size(), 1u);
    EXPECT_EQ(content_of(file), first);
    folder.append(whole_record("op/k:m=2"));
    EXPECT_EQ(content_of(file), first + second);
  }
}

TEST(RunFolder, MalformedLinesAreNamedByFileAndLine) {
  Scratch scratch;
  { RunFolder::create(scratch.path / "r").append(whole_record("op/k:m=1")); }
  const fs::path file = scratch.path / "r" / "records.jsonl";
  const std::string good = content_of(file);
  const auto error = [&](const std::string& content) {
    write_text(file, content);
    const std::string resumed = message_of([&] { RunFolder::resume(scratch.path / "r"); });
    EXPECT_EQ(resumed, message_of([&] { read_records(scratch.path / "r"); }));
    EXPECT_EQ(resumed.find('\n'), std::string::npos);
    EXPECT_EQ(content_of(file), content) << "a file that is refused must be left alone";
    return resumed;
  };
  EXPECT_THAT(error("garbage\n" + good), HasSubstr("records.jsonl:1: not JSON"));
  EXPECT_THAT(
      error(good + "{\"schema\":{\"major\":1}}\n"),
      HasSubstr("records.jsonl:2: kernel_id: is missing: made by an older assay, or damaged; start a new run in "
                "another folder"));
  EXPECT_THAT(error(good + "\n"), HasSubstr("records.jsonl:2: not JSON"));
  EXPECT_THAT(error(good + good), HasSubstr("records.jsonl:2: kernel_id: 'op/k:m=1' twice"));
  EXPECT_THAT(error(good + "{\"schema\":{\"major\":2,\"minor\":0}}\n"),
              HasSubstr("records.jsonl:2: schema 2 is newer"));
  EXPECT_THAT(error(good + std::string(100, '\0') + "\n"), HasSubstr("records.jsonl:2: not JSON"));
}

TEST(RunFolder, ARecordThatContradictsItselfIsRefusedByFileLineAndField) {
  Scratch scratch;
  Record torn = whole_record("op/k:m=2");
  torn.checks.pop_back();
  {
    RunFolder folder = RunFolder::create(scratch.path / "r");
    folder.append(whole_record("op/k:m=1"));
    folder.append(torn);
  }
  const std::string said = message_of([&] { RunFolder::resume(scratch.path / "r"); });
  EXPECT_EQ(said, message_of([&] { read_records(scratch.path / "r"); }));
  EXPECT_EQ(said, (scratch.path / "r" / "records.jsonl").string() +
                      ":2: checks: has no 'statistical': made by an older assay, or damaged; start a new run in "
                      "another folder");
}

TEST(RunFolder, LinksInALoopAreNoFileThatIsMissing) {
  Scratch scratch;
  const fs::path loop = scratch.path / "loop";
  fs::create_symlink("loop", loop);
  EXPECT_EQ(message_of([&] { is_there(loop / "run.json"); }),
            "cannot look at " + (loop / "run.json").string() + ": Too many levels of symbolic links");
  write_text(scratch.path / "file", "x");
  EXPECT_TRUE(is_there(scratch.path / "file"));
  EXPECT_FALSE(is_there(scratch.path / "nothing"));
  EXPECT_FALSE(is_there(scratch.path / "file" / "below"));
}

TEST(RunFolder, WrongFoldersAreRefusedInOneLineThatNamesThem) {
  Scratch scratch;
  const fs::path run = scratch.path / "r";
  { RunFolder::create(run); }
  EXPECT_THAT(message_of([&] { RunFolder::create(run); }), HasSubstr(run.string() + ": holds a run already"));
  EXPECT_THAT(message_of([&] { RunFolder::resume(scratch.path / "none"); }), HasSubstr("no run to resume here"));
  EXPECT_THAT(message_of([&] { read_records(scratch.path / "none"); }),
              HasSubstr("cannot read " + scratch.path.string()));
  write_text(scratch.path / "file", "x");
  EXPECT_THAT(message_of([&] { RunFolder::create(scratch.path / "file" / "r"); }),
              HasSubstr("cannot make folder " + (scratch.path / "file" / "r").string()));
  EXPECT_THAT(message_of([&] { RunFolder::create("/proc/assay/r"); }), HasSubstr("cannot make folder /proc/assay/r"));
  EXPECT_THAT(message_of([&] { write_file_atomically("/proc/assay", "x"); }), HasSubstr("cannot write /proc/assay"));
  write_text(run / "run.json", "{\"schema\":{\"major\":9}}");
  EXPECT_THAT(message_of([&] { read_run(run); }), HasSubstr("run.json: schema 9 is newer"));
  write_text(run / "run.json", "{\"schema\":{\"major\":1}}");
  EXPECT_THAT(message_of([&] { read_run(run); }),
              HasSubstr("run.json: asked: is missing: made by an older assay, or damaged; start a new run in another "
                        "folder"));
}

TEST(RunFolder, AnotherWriterIsRefused) {
  Scratch scratch;
  RunFolder folder = RunFolder::create(scratch.path / "r");
  read_records(scratch.path / "r");  // opens and closes what is locked
  const pid_t child = fork();
  if (child == 0) {
    const std::string message = message_of([&] { RunFolder::resume(scratch.path / "r"); });
    _exit(message.find("another process is writing this run") != std::string::npos ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

// A limit on file size stands in for a full disk: the kernel takes part of the line, then refuses the rest.
TEST(RunFolder, FullDiskIsOneLineAndLeavesWholeLines) {
  Scratch scratch;
  RunFolder folder = RunFolder::create(scratch.path / "r");
  folder.append(whole_record("op/k:m=1"));
  const fs::path file = scratch.path / "r" / "records.jsonl";
  const std::string before = content_of(file);

  rlimit old{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &old), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit full = old;
  full.rlim_cur = before.size() + 100;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &full), 0);
  const std::string message = message_of([&] { folder.append(whole_record("op/k:m=2")); });
  const std::string run_message = message_of([&] { folder.write_run(sample_run()); });
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &old), 0);
  std::signal(SIGXFSZ, handler);

  EXPECT_THAT(message, HasSubstr("cannot append to " + file.string() + ": File too large"));
  EXPECT_THAT(run_message, HasSubstr("cannot write " + (scratch.path / "r" / "run.json").string()));
  EXPECT_FALSE(fs::exists(scratch.path / "r" / "run.json.part"));
  EXPECT_EQ(content_of(file), before);
  folder.append(whole_record("op/k:m=2"));
  EXPECT_EQ(read_records(scratch.path / "r").size(), 2u);
}

// The process is killed while it appends; whatever it said was recorded must be there.
TEST(RunFolder, KilledWhileAppendingLosesNothingRecorded) {
  const uint64_t seed = std::random_device{}();
  std::cout << "seed " << seed << "\n";
  std::mt19937_64 bits(seed);
  for (int round = 0; round < 10; ++round) {
    Scratch scratch;
    int pipe_ends[2];
    ASSERT_EQ(pipe(pipe_ends), 0);
    const pid_t child = fork();
    if (child == 0) {
      close(pipe_ends[0]);
      RunFolder folder = RunFolder::create(scratch.path / "r");
      for (int i = 0;; ++i) {
        folder.append(whole_record("op/k:m=" + std::to_string(i)));
        if (::write(pipe_ends[1], "x", 1) != 1) _exit(1);
      }
    }
    close(pipe_ends[1]);
    size_t acknowledged = 0;
    char byte;
    for (const uint64_t stop = 1 + bits() % 20; acknowledged < stop; ++acknowledged) {
      ASSERT_EQ(read(pipe_ends[0], &byte, 1), 1);
    }
    usleep(static_cast<useconds_t>(bits() % 3000));
    kill(child, SIGKILL);
    ASSERT_EQ(waitpid(child, nullptr, 0), child);
    while (read(pipe_ends[0], &byte, 1) == 1) ++acknowledged;
    close(pipe_ends[0]);
    const size_t recorded = RunFolder::resume(scratch.path / "r").recorded().size();
    EXPECT_GE(recorded, acknowledged);
    EXPECT_LE(recorded, acknowledged + 1);
  }
}

}  // namespace
}  // namespace assay
