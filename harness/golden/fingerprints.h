// Approved fingerprints: golden/fingerprint/PLATFORM/OP.txt, one line a kernel and variant with every fact
// (check/fingerprint.h).
//
//   # assay fingerprint golden, format 1
//   # isa sse4_2 avx fma avx2 avx512f               facts of the platform, and mark, as in observed goldens
//   gemm/openblas:dtype=f32 shape=sequential tree=(0:63) kept_bits=23 split_k?=no%20blocks%20are%20seen
//
// `name=value`, or `name?=why` for what is not known. Texts as in observed goldens.
#pragma once

#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "golden/file.h"
#include "golden/observed.h"
#include "record/fingerprint.h"

namespace assay {

class FingerprintGoldens {
 public:
  // Reads folder/KEY of each platform, where there is such a folder. Throws UsageError.
  static FingerprintGoldens load(const std::filesystem::path& folder, const KernelPlatforms& platforms);

  // Sets baseline and changes.
  void compare(Fingerprint& fingerprint) const;
  // Ids of what is approved of a kernel, "gemm/openblas".
  std::vector<std::string> approved_of(const std::string& kernel) const;

 private:
  std::map<std::string, std::vector<Fact>, std::less<>> lines_;  // by Fingerprint::id()
};

// By op. One whose probes were not all answered or refused is left out: there is nothing to approve.
std::map<std::string, GoldenFile> fingerprint_files(std::span<const Fingerprint> fingerprints,
                                                    const Platform& platform);

}  // namespace assay
