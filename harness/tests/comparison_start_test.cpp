// How a comparison of latencies begins: one gate of a pair at a time, counted in the pair's ledger before its first
// block; and ledgers that are damaged, or cannot be looked at.
#include "gate/comparison_start.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "scratch.h"

namespace assay {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;

// The ledger of one pair, and runs that compare it one after another.
class ComparisonStartTest : public ::testing::Test {
 protected:
  ComparisonStart start(const std::string& change = "c") { return start_in(run.path, change); }
  ComparisonStart start_in(const fs::path& in, const std::string& change = "c") {
    return start_comparison(in, LedgerFile(ledger), "b", change);
  }
  AlphaLedger kept() const { return LedgerFile(ledger).read("b", "c"); }
  Scratch run, other_run, runs;
  fs::path ledger = runs.path / "ledgers" / "ledger.json";
};

TEST_F(ComparisonStartTest, IsTheSameWhenItIsGoneOnWith) {
  const ComparisonStart first = start();
  AlphaLedger now = kept();
  now.spent = 0.001;  // this comparison's own
  LedgerFile(ledger).save(now);
  const ComparisonStart again = start();
  EXPECT_EQ(again.seed, first.seed);
  EXPECT_EQ(again.ledger, first.ledger);
  EXPECT_EQ(kept(), now);
  EXPECT_NE(start_in(other_run.path).seed, first.seed);
}

TEST_F(ComparisonStartTest, IsCountedBeforeItsFirstBlock) {
  const ComparisonStart first = start();
  EXPECT_EQ(first.ledger.gates, 0);
  EXPECT_EQ(kept().gates, 1);
  EXPECT_EQ(kept().last_seed, first.seed);
  EXPECT_EQ(start_in(other_run.path).ledger.gates, 1);
  EXPECT_EQ(kept().gates, 2);
}

// The other one may have called what this one would measure again.
TEST_F(ComparisonStartTest, OneThatWasInterruptedInItsFirstBlockDoesNotGoOnAfterAnotherGate) {
  start();
  start_in(other_run.path);
  EXPECT_THAT(message_of([&] { start(); }), HasSubstr("ledger.json: another gate of this base and change began"));
  EXPECT_NO_THROW(start_in(other_run.path));
}

TEST_F(ComparisonStartTest, OneThatWasKilledBeforeItWasCountedIsCountedWhenItGoesOn) {
  const ComparisonStart first = start();
  fs::remove(ledger);  // as it was
  EXPECT_EQ(start().seed, first.seed);
  EXPECT_EQ(kept().gates, 1);
  start_in(other_run.path);
  EXPECT_THAT(message_of([&] { start(); }), HasSubstr("began since this run was interrupted"));
}

TEST_F(ComparisonStartTest, OneGateAtATimeHoldsTheLedger) {
  {
    const LedgerFile held(ledger);
    EXPECT_THAT(message_of([&] { start(); }),
                AllOf(HasSubstr("ledger.json: another gate of this base and change is under way"),
                      HasSubstr("when it has ended, continue this run with --resume")));
    EXPECT_FALSE(fs::exists(run.path / "comparison.json")) << "and nothing has begun";
    EXPECT_NO_THROW(LedgerFile(runs.path / "of-another-pair.json"));
    EXPECT_NO_THROW(LedgerFile{fs::path()});
  }
  EXPECT_NO_THROW(start());
}

// Nor do the processes that it has started hold it for it.
TEST_F(ComparisonStartTest, AGateThatIsKilledHoldsNothing) {
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t gate = ::fork();
  ASSERT_GE(gate, 0);
  if (gate == 0) {
    ::setpgid(0, 0);
    const LedgerFile held(ledger);
    char sleep[] = "sleep", seconds[] = "60";
    char* const arguments[] = {sleep, seconds, nullptr};
    pid_t started = 0;
    const int failed = ::posix_spawnp(&started, sleep, nullptr, nullptr, arguments, environ);
    [[maybe_unused]] const ssize_t told = ::write(ready[1], failed == 0 ? "+" : "-", 1);
    ::pause();
    ::_exit(0);
  }
  char is_started = 0;
  ASSERT_EQ(::read(ready[0], &is_started, 1), 1);
  EXPECT_EQ(is_started, '+');
  EXPECT_THAT(message_of([&] { start(); }), HasSubstr("is under way"));
  ::kill(gate, SIGKILL);
  ASSERT_EQ(::waitpid(gate, nullptr, 0), gate);
  EXPECT_NO_THROW(start());
  EXPECT_EQ(::kill(-gate, SIGKILL), 0) << "what it started was still there";
}

TEST_F(ComparisonStartTest, ALedgerThatCannotBeHeldIsNamed) {
  write_text(runs.path / "ledgers", "a file");
  EXPECT_THAT(message_of([&] { start(); }), HasSubstr("ledger.json.lock: cannot be written: Not a directory"));
}

TEST_F(ComparisonStartTest, IsOfTheArmsItBeganWith) {
  start();
  fs::remove(ledger);  // others' lies elsewhere
  EXPECT_THAT(message_of([&] { start("d"); }),
              HasSubstr("comparison.json: change: 'c', but this gate is of 'd'; give the ledger of this pair; begin"));
}

TEST_F(ComparisonStartTest, FilesThatAreNoneAreNamed) {
  fs::create_directories(ledger.parent_path());
  write_text(ledger, "{");
  EXPECT_THAT(message_of([&] { start(); }), HasSubstr("ledger.json: is no JSON; remove it to begin anew"));
  fs::remove(ledger);
  for (const char* text :
       {"[]", "{}", "{\"seed\": -1}", "{\"seed\": 1, \"ledger\": 3}", "{\"seed\": 1, \"ledger\": {}}"}) {
    write_text(run.path / "comparison.json", text);
    EXPECT_THAT(message_of([&] { start(); }), HasSubstr("comparison.json: ")) << text;
  }
}

// A number that nobody counted to would be counted on from: past the largest there is, say.
TEST_F(ComparisonStartTest, ACountOfGatesThatNoneWasIsDamage) {
  start();
  const nlohmann::json good = nlohmann::json::parse(content_of(ledger));
  for (const int64_t gates : {int64_t{-5}, int64_t{1'000'000'001}, INT64_MAX}) {
    nlohmann::json bad = good;
    bad["gates"] = gates;
    write_text(ledger, bad.dump());
    EXPECT_THAT(message_of([&] { start_in(other_run.path); }),
                HasSubstr(ledger.string() + ": gates: " + std::to_string(gates) +
                          " is not from 0 to 1000000000; remove it to begin anew"));
    EXPECT_EQ(content_of(ledger), bad.dump()) << "what is refused is left alone";
    bad = good;
    bad["open"] = {{{"case", "a"}, {"metric", "p50"}, {"gates", gates}}};
    write_text(ledger, bad.dump());
    EXPECT_THAT(message_of([&] { start_in(other_run.path); }), HasSubstr("open[0].gates: "));
  }
}

TEST_F(ComparisonStartTest, LinksInALoopAreNoLedgerThatIsMissing) {
  start();
  for (const fs::path& file : {ledger, run.path / "comparison.json"}) {
    fs::remove(file);
    fs::create_symlink(file.filename(), file);
    EXPECT_THAT(message_of([&] { start(); }),
                AllOf(HasSubstr(file.string()), HasSubstr("Too many levels of symbolic links")));
    EXPECT_TRUE(fs::is_symlink(file));
    fs::remove(file);
    fs::create_directory(file);
    EXPECT_THAT(message_of([&] { start(); }), AllOf(HasSubstr(file.string()), HasSubstr("that is no file")));
    fs::remove(file);
  }
}

}  // namespace
}  // namespace assay
