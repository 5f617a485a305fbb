// The commands, one file each. Each returns the exit code of record/verdict.h and throws UsageError for what the caller
// got wrong. To add one: a function here, a line in main.cpp, its flags in options.cpp.
#pragma once

#include "cli/options.h"

namespace assay {

int list_command(const Options& options);
int run_command(const Options& options);  // check, bench and gate
int repro_command(const Options& options);
int shrink_command(const Options& options);
int selftest_command(const Options& options);
int sweep_command(const Options& options);
int golden_command(const Options& options);
int fingerprint_command(const Options& options);
int env_command(const Options& options);
int canary_command(const Options& options);
int promote_command(const Options& options);  // canary --promote
int bisect_command(const Options& options);   // canary --bisect
int report_command(const Options& options);
int history_command(const Options& options);

}  // namespace assay
