// Oracle results are the costliest part of a run and the same for every kernel: kept in memory for the cases in hand,
// and on disk between runs. A file is keyed by (op, oracle version, the judge program's build-id, case without its
// placement, seed) and checksummed; one that does not verify is computed again.
#pragma once

#include <cstdint>
#include <filesystem>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "core/op.h"

namespace assay {

using References = std::shared_ptr<const std::vector<Reference>>;

class OracleCache {
 public:
  // An empty folder: memory only. `build` changes whenever the oracle's code may have. Of several cases in hand no more
  // than `memory` bytes are kept.
  OracleCache(std::filesystem::path folder, std::string build, uint64_t memory = uint64_t{3} << 30);
  uint64_t bytes() const { return bytes_; }  // in memory

  // The references of `c` filled from `seed`; `inputs` is called for the tensors' content only when they must be
  // computed.
  template <class Inputs>
  References get(const Op& op, const Case& c, uint64_t seed, int threads, const Inputs& inputs) {
    const std::string key = key_of(op, c, seed);
    if (References found = find(key)) return found;
    return keep(key, op.oracle(c, inputs(), threads));
  }

 private:
  std::string key_of(const Op& op, const Case& c, uint64_t seed) const;
  References find(const std::string& key);
  References keep(const std::string& key, std::vector<Reference> references);
  void remember(const std::string& key, const References& references);
  std::filesystem::path file_of(const std::string& key) const;

  struct Entry {
    std::string key;
    References references;
    uint64_t bytes;
  };
  std::filesystem::path folder_;
  std::string build_;
  uint64_t memory_;
  std::list<Entry> recent_;  // most recently used first
  uint64_t bytes_ = 0;
};

}  // namespace assay
