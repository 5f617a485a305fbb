// assay: the one command. Only this file decides that the process ends.
#include <signal.h>

#include <cstdio>
#include <exception>

#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/paths.h"
#include "core/error.h"
#include "gate/program.h"
#include "record/verdict.h"

namespace {

int dispatch(const assay::Options& options) {
  if (options.command == "list") return assay::list_command(options);
  if (options.command == "repro") return assay::repro_command(options);
  if (options.command == "shrink") return assay::shrink_command(options);
  if (options.command == "selftest") return assay::selftest_command(options);
  if (options.command == "sweep") return assay::sweep_command(options);
  if (options.command == "golden") return assay::golden_command(options);
  if (options.command == "fingerprint") return assay::fingerprint_command(options);
  if (options.command == "env") return assay::env_command(options);
  if (!options.promote.empty()) return assay::promote_command(options);
  if (!options.bisect.empty()) return assay::bisect_command(options);
  if (options.command == "canary") return assay::canary_command(options);
  if (options.command == "report") return assay::report_command(options);
  if (options.command == "history") return assay::history_command(options);
  return assay::run_command(options);
}

}  // namespace

int main(int argc, char** argv) {
  constexpr int kInternal = 4;
  int code = kInternal;
  const std::string program = argc > 0 && *argv[0] != '\0' ? argv[0] : assay::Options{}.program;
  std::string root;  // of the commands that messages advise
  const auto told = [&](const std::exception& e) { return assay::with_program_named(e.what(), program, root); };
  try {
    assay::Options options = assay::parse_options({argv + 1, argv + argc});
    options.program = program;
    root = assay::root_argument(options);
    code = dispatch(options);
  } catch (const assay::HelpAsked& help) {
    std::fputs(help.what(), stdout);
    code = 0;
  } catch (const assay::UsageError& e) {
    std::fprintf(stderr, "assay: %s\n", told(e).c_str());
  } catch (const assay::Invalid& e) {
    std::fprintf(stderr, "assay: %s\n", told(e).c_str());
    code = assay::exit_code_of(assay::Verdict::invalid);
  } catch (const std::exception& e) {
    if (assay::interrupt_signal() != SIGPIPE) std::fprintf(stderr, "assay: internal error: %s\n", e.what());
  }
  const bool is_cut_off = std::fflush(stdout) != 0 || std::ferror(stdout) != 0;
  if (assay::interrupt_signal() == SIGPIPE) return 128 + SIGPIPE;
  if (is_cut_off) {
    std::fprintf(stderr, "assay: cannot write to standard output\n");
    return kInternal;
  }
  return code;
}
