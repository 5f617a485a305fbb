// The command line, parsed: the same words for the same flags in every command. To add a flag: a member here, one
// line in options.cpp for the commands that take it.
#pragma once

#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/op.h"
#include "gate/plan.h"

namespace assay {

struct Options {
  std::string command;  // "check", "golden", ...
  // Of golden: verify, diff, update; of env: pin, verify, or none; of history: import, show.
  std::string subcommand;
  std::vector<std::string> argv;  // without the program
  std::string program = "assay";  // as it was called, for lines to paste

  std::vector<std::string> filters;
  Tier tier = Tier::smoke;
  std::string device = "cpu";
  std::string sanitizer;  // tool of compute-sanitizer; empty: none
  std::filesystem::path
      out;  // empty: runs/<time>-<tier> below the root, of shrink runs/shrunk-<time>; of env pin a file
  Shard shard;
  std::string shard_text;
  std::filesystem::path resume;
  bool json = false;
  int threads = 2;
  std::vector<std::filesystem::path> modules;  // given one by one; empty: all of modules_folder
  std::filesystem::path modules_folder;        // empty: the build's own
  std::filesystem::path root;                  // of the source tree
  std::string base;                            // a folder, or a git ref
  bool approve_findings = false;
  bool no_report = false;
  bool no_latency = false;             // of a gate against a base: correctness and findings alone
  bool no_skip = false;                // time kernels whose code is the same in both arms, too
  std::filesystem::path base_modules;  // of the base, built by somebody; empty: ci/arm builds both arms
  int64_t blocks = 0;                  // of bench: to be recorded, both arms being this build
  std::filesystem::path history;       // earlier runs, for what only many of them show
  std::filesystem::path ledgers;       // of comparisons of latencies; empty: below runs/ of the tree
  bool explain = false;

  bool list_cases = false, list_checks = false, list_verdicts = false, list_contracts = false;
  bool beside_others = false;    // other processes use the device
  int64_t reseed = 0;            // added to every case's seed
  std::string fuzz;              // budget of drawn cases, such as 60s or 200cases; empty: the listed ones
  std::optional<uint64_t> seed;  // of the draws
  std::filesystem::path faults;  // of selftest: what harness/tests/mutants/build.py made; empty: mutants of the build
  int64_t innocent = 10000;      // kernel-cases without a fault, at least
  std::optional<int> jobs;       // cases judged, modules of a selftest, parts of a sweep: at a time
  bool minimise = false;         // the least suite too
  bool smoke_first = false;      // --tier for what survives smoke
  std::string id;                // of repro and shrink
  double seconds = 60;           // that shrink may take, and a sweep of a kernel
  int64_t shapes = 0;            // after which a sweep of a kernel ends; 0: --seconds alone
  int64_t draws = 1;             // seed of a sweep's shapes
  int repeat = 1;                // processes that fingerprint compares
  std::filesystem::path run_folder;         // of report: a run's or a selftest's; golden and env pin: a run's
  bool contracts = false;                   // golden: of contracts.txt alone
  bool unpinned = false;                    // the environment need not be the pinned one, and what is written says so
  std::filesystem::path selftest;           // report: to show in the run's page
  std::filesystem::path before;             // report: an earlier selftest to set beside it
  bool reference = false;                   // history import: relative to the base of the latency gates
  bool invariances = false;                 // report: the matrix alone, as Markdown
  std::vector<std::filesystem::path> runs;  // history import: their folders
  std::string database;                     // history: URL; empty: a file in runs/ of the tree
  std::string library;                      // of canary: the name of its recipe in ci/libraries
  std::string candidate;  // its versions, as a source of the recipe tells them, or folders; empty: what is installed
  std::string pin;
  bool list_versions = false;     // of that library, and no more
  std::filesystem::path promote;  // the finished canary whose candidate becomes the pin
  std::string bisect;             // "A..B"
  std::string coretype;           // instruction set that either is told to choose; empty: it chooses by itself
  // LIBRARY=VERSION, under which kernels are judged; empty: what is installed
  std::string library_version;
  std::string kernels;  // history show: glob of op/kernel or a whole id; empty: all

  int jobs_asked() const { return jobs.value_or(1); }
};

// Help was asked for: this text, exit 0.
struct HelpAsked : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// `arguments` without the program's name. Throws UsageError, with the nearest flag for one nobody knows, or HelpAsked.
Options parse_options(const std::vector<std::string>& arguments);

}  // namespace assay
