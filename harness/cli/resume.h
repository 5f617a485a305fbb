// Continuing a run that was interrupted or killed.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "cli/options.h"
#include "record/run_folder.h"

namespace assay {

// The options --resume stands for: those the run was asked with. Other flags beside it must be the same as then. Throws
// UsageError.
Options resumed(const Options& options);
// Of a canary, whose sides are runs: `run` is one of theirs.
Options resumed(const Options& options, const std::filesystem::path& run);

// The arguments as run.json keeps them: paths that mean the same in every working directory.
std::vector<std::string> lasting_arguments(const std::vector<std::string>& argv);

// Of these those that ask: without what says where a run is and how it is told.
std::vector<std::string> question(const std::vector<std::string>& argv);

// The folder of a run that begins, or with --resume of one that is there and may not have begun. Throws UsageError,
// also where records were written and are gone.
RunFolder open_run_folder(const Options& options, const std::filesystem::path& folder);

// Killed before run.json was there: nothing was recorded, and the run begins again in its folder. Throws UsageError for
// a folder that holds something else and no run.
bool never_began(const std::filesystem::path& run);

// A run goes on only with the code and libraries it began with, judged by the policy and goldens it began with, and
// where it began: its records would otherwise speak of two programs, two judges or two machines. why_other() tells what
// differs, in one line, or nothing. Throws UsageError.
std::string why_other(const Run& before, const Run& now);
void require_same(const Run& before, const Run& now);

}  // namespace assay
