// A failing case as one file that needs nothing of Assay: the C interface of kernels, the call, its inputs as exact
// bits, and for every output element the interval that is right, as the enclosure verdict forms it. Built and run, it
// asks the kernel of any module and prints a line for each violation. bundle_program.h is what it does.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/contract.h"
#include "core/op.h"
#include "record/record.h"
#include "worker/judge_client.h"

namespace assay {

struct BundleOf {
  const Op& op;
  const Case& failing;
  const KernelInfo& kernel;
  const Contract& contract;  // in force for the plan
  const Record& record;      // of the failure
  int threads = 2;           // of a launch, and of the oracle
  double deadline_seconds = 20;
  std::vector<std::filesystem::path> library_path{};  // that the module needs
};

// Of inputs and outputs together, over all seeds; a larger case makes a file that nobody compiles.
inline constexpr int64_t kLargestBundle = int64_t{1} << 20;  // elements
// From the first element of each tensor to its last: the program goes over them byte by byte, launch after launch.
inline constexpr int64_t kLargestBundledSpan = int64_t{1} << 26;  // bytes
// Why there is no bundle of the case, or empty.
std::string too_large_to_bundle(const Op& op, const Case& c);

// Why the program does not make the check that failed, or empty.
std::string why_not_shown(const BundleOf& what);

std::string bundle_file_name(const KernelInfo& kernel);  // repro.cpp, or repro.cu
std::string bundle_program(const BundleOf& what);

// Writes the program and case.txt (the kernel id, then what failed and how to replay it) into a folder that is new or
// empty. Throws UsageError when it is neither or cannot be written, or the case is too large.
void write_bundle(const BundleOf& what, const std::filesystem::path& folder);

}  // namespace assay
