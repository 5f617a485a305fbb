// The first version of a library that is bad, between one that is good and one that is not. What bad means is the
// caller's: a canary's verdict, one case that fails.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "gate/library_versions.h"

namespace assay {

enum class Goodness { good, bad, unknown };  // unknown: it cannot be loaded, or the answer is no answer

// What a canary.json says of its version, where what is looked for is the verdict that `last`, the last version's, has.
// Where that is REJECT a version that is held is good, unless what holds it might be that REJECT: a case without an
// answer; where latency rejects, what is slower, undecided or void.
Goodness goodness_of(const nlohmann::json& canary, const nlohmann::json& last);

struct Bisection {
  struct Step {
    LibraryVersion version;
    Goodness judged;
  };
  std::vector<Step> steps;  // in the order they were asked
  // Neighbours, but for those between. No first_bad: the last version is good, and there is nothing to find.
  std::optional<LibraryVersion> last_good, first_bad;
  std::vector<LibraryVersion> between;  // of which nothing is known: any of them may be the first bad one
};

// The versions of one source from `words.A` to `words.B`, of the form "A..B", both ends included, earlier first. Throws
// UsageError for words that are not of that form, ends of two sources, and ends in the wrong order.
std::vector<LibraryVersion> versions_between(const LibraryPlace& place, const LibraryRecipe& recipe,
                                             const std::string& words, std::vector<std::string>& notes);

// Asks for both ends first, then halves what is between; one that is unknown gives way to its nearest neighbour. As
// long as the ends are good and bad each answer is of a version whose neighbours decide, though badness come and go
// between. Throws UsageError when the first is not good, and when nothing is known of the last.
Bisection bisect(const std::vector<LibraryVersion>& versions,
                 const std::function<Goodness(const LibraryVersion&)>& judge);

}  // namespace assay
