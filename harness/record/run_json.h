// run.json: what a run was asked, where it ran, with which kernels and libraries, and how it ended. Written when the
// run starts (exit code null) and again when it ends, whole each time. Readers: dashboards/, `assay report`.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/contract.h"

namespace assay {

struct Asked {
  std::string command;  // "gate", "check", "bench"
  std::string tier;     // "smoke", "ci", "nightly"
  std::string filter;   // as given; empty: everything
  std::string shard;    // "i/n"; empty: all
  std::vector<std::string> argv;
  bool own_modules = false;    // the modules were those of the build that judged them, and no others
  std::string device = "cpu";  // that kernels ran on
  bool every_module = false;   // all of a build's modules were loaded, and none was given by itself
};

// A file that was mapped by a process of the run. "unknown" where it could not be told.
struct LoadedLibrary {
  std::string path, version, build_id;
  std::vector<std::string> modules = {};  // file names of those in whose own processes it was mapped
  std::string sha256 = {};                // of the file; empty: nobody asked
};

// What tells a library's code, wherever it lies: "libm.so.6 d6e6f9e3...", or "libm.so.6 version 2.36" without a
// build-id.
std::string identity(const LoadedLibrary& library);

struct KernelEntry {
  std::string op, name, target;
  std::string module;       // file name
  std::string module_hash;  // of its machine code and read-only data
  Contract contract;        // its owner is the kernel's
  std::string platform;     // that its observed goldens are of: Platform::key() of golden/observed.h
};

// Something a reviewer must see that is not the result of one case: an edit of policy or goldens, a removed kernel,
// case or check, planned and recorded counts that differ.
struct Finding {
  std::string kind;  // "policy", "golden", "removed", "count", "environment", ...
  std::string text;  // one line
};

// Cases of the tier that a kernel was spared, as the policy says.
struct LeftOut {
  std::string kernel;  // op/kernel
  int64_t cases = 0;
  std::string judged_by;  // the tier whose cases it got instead
  std::string reason;
};

enum class PinState {
  pinned,      // as the platform's pin says
  mismatched,  // the pin says otherwise
  unpinned,    // nobody wrote one for this platform
};
std::string_view word_of(PinState state);

// What the pin of its platform says of where a run was (gate/pin.h). Correctness is judged all the same; latency gates,
// observed goldens and canaries are invalid where it is not `pinned`.
struct PinLabel {
  std::string platform;  // "avx512-t2-0a1b2c3d": its pin is ci/pins/PLATFORM.toml
  PinState state = PinState::unpinned;
  std::vector<std::string> differences{};  // a line each
  std::vector<std::string> unknown{};      // what neither pin nor machine tell, and so is not compared
};

struct Run {
  Asked asked;
  std::string commit{};  // of the tree that was judged, as commit_of() of gate/base_tree.h names it; empty: not known,
                         // or several
  std::string started;   // RFC 3339, UTC
  std::string finished;  // empty while it runs, and for ever when it was killed
  int64_t planned = 0;   // kernel-cases
  int64_t recorded = 0;
  std::optional<int> exit_code{};                  // none while it runs
  int threads = 0;                                 // given to kernels
  std::map<std::string, std::string> environment;  // "cpu.model" -> text, "unknown" where not readable (environment.h)
  std::vector<LoadedLibrary> libraries;
  std::vector<KernelEntry> kernels;
  std::vector<Finding> findings;
  std::vector<LeftOut> left_out{};
  PinLabel pin{};
  std::map<std::string, std::string>
      judged_by{};  // "policy" -> a hash of its files, "assay-judge" -> its build; empty in a run of before
};

// The tables of checks and verdicts go in as well, so that a reader needs no copy of them; they are not read back.
nlohmann::json to_json(const Run& run);
nlohmann::json to_json(const PinLabel& pin);

// Throws UsageError that names the key; a newer major schema is refused.
Run run_from_json(const nlohmann::json& value);

// The time now as RFC 3339 in UTC, to the second.
std::string utc_now();

}  // namespace assay
