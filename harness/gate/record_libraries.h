// The libraries that a record's outputs may depend on: those that the kernel's module brought with it, and those that
// its processes loaded later, at the first launch, say. run.json lists both at the end, for a module; a record names
// the late ones there were by then.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "record/record.h"
#include "record/run_json.h"

namespace assay {

using LibrariesByKernel = std::map<std::string, std::vector<LoadedLibrary>, std::less<>>;  // by "gemm/simd"

// What computes of those that each kernel's module brought. `records` are all of the run.
LibrariesByKernel brought_libraries(const Run& run, const std::vector<Record>& records);

// `brought` and the record's late libraries. These have no folder; their version is that in the file's name.
std::vector<LoadedLibrary> libraries_of(const Record& record, std::vector<LoadedLibrary> brought);

}  // namespace assay
