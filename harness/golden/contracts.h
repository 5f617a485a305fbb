// What kernels promise, as it was reviewed: golden/contracts.txt, one line a kernel of either target, taken from the
// modules. It tells what a change's contracts are compared with where nobody builds the base.
//
//   # assay contract golden, format 1
//   gemm/simd:target=cpu {"alignment":0,...}        record/json.h
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "golden/file.h"
#include "worker/judge_client.h"

namespace assay {

inline constexpr const char* kContractsFile = "contracts.txt";  // below golden/

// Of each kernel its op, name, target and contract.
std::vector<KernelInfo> kernels_from(const GoldenFile& file, const std::string& name);  // throws UsageError
GoldenFile to_golden_file(const std::vector<KernelInfo>& kernels);

// Of the file in the folder golden/ of a tree; none where there is no such file. Throws UsageError.
std::vector<KernelInfo> read_contracts(const std::filesystem::path& folder);

// The target that a line's key names.
std::string target_of(const std::string& key);

}  // namespace assay
