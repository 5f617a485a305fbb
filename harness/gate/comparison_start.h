// How a comparison of latencies begins, comparison.json in its run's folder: what it draws, and the ledger of its arms
// (gate/alpha_ledger.h) as it was then. One that was interrupted goes on from there, since its blocks mean the same
// only with the same: by then the ledger itself knows of the comparison.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "gate/alpha_ledger.h"

namespace assay {

struct ComparisonStart {
  uint64_t seed = 0;
  AlphaLedger ledger;
};

// `ledger`: the file in which the arms' ledger lies, if it is there; empty: none is kept. Throws UsageError that names
// the file: for one that is not what was written, for a run of other arms, and where another comparison of these arms
// began since this one was interrupted.
ComparisonStart start_comparison(const std::filesystem::path& run, const std::filesystem::path& ledger,
                                 const std::string& base, const std::string& change);

}  // namespace assay
