// Pins against what is really there: whether an environment is the one that ci/pins fixes for its platform, and whether
// two runs were of the same. Correctness is judged anywhere and labelled so; what only a pinned environment can say
// goes through require_pinned().
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "gate/pin_file.h"
#include "record/run_json.h"

namespace assay {

// Of a process that loads kernels of one device.
struct Environment {
  PinPlatform platform;
  Facts facts;
  std::vector<LoadedLibrary> libraries;  // that the device's modules brought or loaded later; no module among them
  bool whole = false;                    // every module of a build was loaded: what is not here is missing
};

// Of a run, as its run.json tells it. While it goes on, nothing was loaded late yet.
Environment environment_of(const Run& run);

// To what environment_of() tells of, where it has none yet. Reading takes a while, most of all of what the modules of
// another device brought, which nothing here computes with.
void add_checksums(Run& run);

// One line a difference: what, both values, what to do. Empty: the environment is the pinned one. A file of the pinned
// version and build-id whose checksum is another is one too, where both have one. A library is missing where `found` is
// whole and it would not come late; one that the pin does not list is a difference always. Libraries are paired by
// their name without a version.
std::vector<std::string> differences(const Pin& pin, const Environment& found);

// What neither tells ("cpu.microcode"), so that equality proves nothing.
std::vector<std::string> unknown_to_both(const Pin& pin, const Environment& found);

// What ci/pins of the tree that judges, `pins`, says of an environment. Throws UsageError for a file that is no pin.
PinLabel label_of(const Environment& environment, const std::filesystem::path& pins);

// The same without the files of a library that is moved, whose builds its set proves. What they need and the pin does
// not list came with the library (the system's libz with a wheel): it is no difference, and `unknown` names it.
PinLabel label_beside(Environment environment, const std::vector<std::filesystem::path>& moved,
                      const std::filesystem::path& pins);

// "pinned, as ci/pins/X.toml says", "mismatched: ...", "unpinned: ...", without the differences: one line.
std::string label_text(const PinLabel& label);

// What keeps the environment from being the pinned one, without values: "differs from ci/pins/X.toml in libm,
// os.kernel". Empty where it is `pinned`.
std::string unpinned_text(const PinLabel& label);

// Latency gates, observed goldens and canaries call this first, and again with what was loaded by the last case: throws
// Invalid, which names `what` was asked, the difference and the remedy, unless the environment is pinned. `unpinned` is
// the flag --unpinned, with which whatever is written carries the label.
void require_pinned(const PinLabel& label, std::string_view what, bool unpinned);

// Where the environments of two runs differ in what a pin fixes, a line each: "cpu.microcode: 0x1 before, 0x2 now". A
// library counts that both loaded; which they loaded depends on the kernels they judged. Whoever compares two runs says
// these, or refuses.
std::vector<std::string> environment_changes(const Run& before, const Run& now);

// Each library of a run by its name without a version, as "version 6 (build-id d6e6f9...)".
std::map<std::string, std::string> builds_of(const Run& run);

// The pin of an environment, with what each file came from (gate/package.h). `late`: libraries beyond those of
// `environment`, that a run loaded afterwards. Throws UsageError for a machine whose processor nothing is known of.
Pin make_pin(const Environment& environment, const std::vector<LoadedLibrary>& late);

// What an earlier run, `run`, loaded beyond what the same modules bring `now`: at their first launch, say. Throws
// UsageError, without the run's name, when it was of another environment, or a file that it loaded is another by now.
std::vector<LoadedLibrary> loaded_late(const Run& now, const Run& run);

}  // namespace assay
