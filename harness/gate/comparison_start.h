// How a comparison of latencies begins: it takes the ledger of its arms (gate/alpha_ledger.h), which no other gate has
// until it ends, counts itself in it, and keeps what it draws and the ledger as it was in comparison.json of its run's
// folder. One that was interrupted goes on from there, since its blocks mean the same only with the same; unless
// another gate of these arms has begun meanwhile, of which it would know nothing.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "gate/alpha_ledger.h"

namespace assay {

class LedgerFile {
 public:
  // Makes the folder, and a file beside the ledger's that is locked until this is gone or the process has ended. Throws
  // UsageError where another gate holds it. An empty path: no ledger is kept.
  explicit LedgerFile(std::filesystem::path path);
  ~LedgerFile();
  LedgerFile(const LedgerFile&) = delete;
  LedgerFile& operator=(const LedgerFile&) = delete;

  // A new one where there is no file. Throws UsageError that names the file where it is no ledger of this pair.
  AlphaLedger read(const std::string& base, const std::string& change) const;
  void save(const AlphaLedger& ledger) const;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  int lock_ = -1;
};

struct ComparisonStart {
  uint64_t seed = 0;
  AlphaLedger ledger;  // as it was before, but for AlphaLedger::last_seed
  AlphaLedger known;   // as it is on disk: where this gate goes on, with what its recorded blocks came to
};

// By then the ledger on disk counts this gate. Throws UsageError that names the file: for one that is not what was
// written, for a run of other arms, and where another gate of these arms began since this one was interrupted.
ComparisonStart start_comparison(const std::filesystem::path& run, const LedgerFile& file, const std::string& base,
                                 const std::string& change);

}  // namespace assay
