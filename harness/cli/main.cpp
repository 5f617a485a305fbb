// assay: the one command. Only this file decides that the process ends.
#include <fcntl.h>
#include <signal.h>

#include <cerrno>
#include <cstdio>
#include <exception>
#include <filesystem>

#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/paths.h"
#include "core/error.h"
#include "core/plain_text.h"
#include "gate/program.h"
#include "record/verdict.h"
#include "worker/judge_client.h"

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

// What is opened later must not become standard input, output or error, where those are closed.
void hold_standard_descriptors() {
  for (int fd = 0; fd <= 2; ++fd) {
    if (::fcntl(fd, F_GETFD) < 0 && errno == EBADF) ::open("/dev/null", O_RDWR);  // the lowest that is free: fd
  }
}

void tell(const std::string& what) { std::fprintf(stderr, "assay: %s\n", assay::plain_text(what).c_str()); }

// A path that cannot be followed, say: "/a/b: Too many levels of symbolic links".
std::string text_of(const std::filesystem::filesystem_error& e) {
  return (e.path1().empty() ? "the working folder" : e.path1().string()) + ": " + e.code().message();
}

}  // namespace

int main(int argc, char** argv) {
  hold_standard_descriptors();
  ::signal(SIGXFSZ, SIG_IGN);  // a file that grows beyond a limit is told as one that cannot be written
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
    tell(told(e));
  } catch (const assay::Invalid& e) {
    tell(told(e));
    code = assay::exit_code_of(assay::Verdict::invalid);
  } catch (const assay::JudgeStopped&) {
    tell("stopped");
    code = 128 + assay::interrupt_signal();
  } catch (const std::filesystem::filesystem_error& e) {
    tell(text_of(e));
  } catch (const std::exception& e) {
    // What fmt says of an output that cannot be written is said below.
    const bool is_of_output = std::ferror(stdout) != 0 || assay::interrupt_signal() == SIGPIPE;
    if (!is_of_output) tell(std::string("internal error: ") + e.what());
  }
  const bool is_cut_off = std::fflush(stdout) != 0 || std::ferror(stdout) != 0;
  if (assay::interrupt_signal() == SIGPIPE) return 128 + SIGPIPE;
  if (is_cut_off) {
    std::fprintf(stderr, "assay: cannot write to standard output\n");
    return kInternal;
  }
  return code;
}
