// Truth goldens: golden/truth/OP.txt, one line a case of any tier or of the bench, with the hash and samples of what
// the oracle says.
// They guard the oracle: if its answer for a known case moves, nothing it judges can be trusted.
//
//   # assay truth golden, format 1
//   # oracle 2
//   gemm:m=3,n=5,k=7,dtype=f32 0123456789abcdef elements=15 straddling=0 0:3f800000 8:40000000 14:bf000000
//
// The hash is that of check/truth.h over all outputs of all seeds of the case, of a sweep by chunks. Placement (offset,
// place) does not change what is true, so the key leaves it out.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "check/truth.h"
#include "core/op.h"
#include "golden/file.h"

namespace assay {

// A case id or kernel id without kernel and placement: "gemm/simd:m=1,...,place=start" -> "gemm:m=1,...".
std::string truth_key(std::string_view id);

struct TruthFile {
  int oracle_version = 0;
  std::map<std::string, Truth, std::less<>> cases;  // by truth_key

  bool operator==(const TruthFile&) const = default;
};

// `name` stands for the file in messages. Throws UsageError.
TruthFile truth_file_from(const GoldenFile& file, const std::string& name);
GoldenFile to_golden_file(const TruthFile& truth);

class TruthGoldens {
 public:
  // Reads folder/OP.txt of every op that has one. A file that no op belongs to is left to diff and verify.
  static TruthGoldens load(const std::filesystem::path& folder, const OpRegistry& ops);

  bool has(std::string_view op) const { return ops_.find(op) != ops_.end(); }

  struct Found {
    const Truth* truth = nullptr;
    std::string absent;  // why there is none: no line, no file, another oracle version
  };
  Found find(std::string_view kernel_id) const;

 private:
  struct OfOp {
    TruthFile file;
    int build_version = 0;  // of the oracle in this build
  };
  std::map<std::string, OfOp, std::less<>> ops_;
};

// Fills and judges nothing but the oracle: the truth of one case, all its seeds.
Truth compute_truth(const Op& op, const Case& c, int threads);

struct TruthProgress {
  size_t done = 0, total = 0;
  std::string next;  // the case being computed
};

// The truths of `cases`, by op, with an entry for each op. In this process; no kernel is involved.
std::map<std::string, TruthFile> compute_truths(const OpRegistry& ops, std::span<const Case> cases, int threads,
                                                const std::function<void(const TruthProgress&)>& progress);

}  // namespace assay
