// Whether another contract of the same kernel is weaker: what a change must not do to its own kernel unseen.
#pragma once

#include <string>
#include <vector>

#include "core/contract.h"

namespace assay {

// In what `now` promises or claims less, or allows more, than `before`: "promises: was same-run, now nothing", a line a
// field. A domain that is not told by its clauses to claim all that the other did counts, and so does arithmetic whose
// error is not known to be as small.
std::vector<std::string> weakened(const Contract& before, const Contract& now);

}  // namespace assay
