// A file of raw latency samples, in the order taken. Little-endian, no padding:
//
//   offset  bytes  what
//   0       8      "ASSAYSMP"
//   8       4      version, 1, or 2 with clocks; readers refuse another
//   12      4      n, bytes of the label (at most 65536)
//   16      8      count of samples
//   24      8      batch, launches a sample (at least 1)
//   32      n      label: kernel id, a space, metric (UTF-8)
//   32+n    8 each samples: signed, nanoseconds of a whole batch, none negative
//           8 each in version 2, of each sample the clock of a GPU's multiprocessor: double, MHz, 0 where it is not
//           known
//
// and nothing after. dashboards/assay_dashboards/samples.py reads the same layout.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "measure/sampler.h"

namespace assay {

struct SamplesFile {
  std::string label;
  int64_t batch = 1;
  std::vector<int64_t> nanoseconds;
  std::vector<double> sm_mhz;  // one a sample, or none
};

// "samples/HASH.bin", relative to the run folder: a kernel id may hold anything, a file name may not.
std::string samples_file_name(std::string_view kernel_id, std::string_view metric);

// Whole or not at all, and on disk when it returns. Throws UsageError naming the file.
void write_samples(const std::filesystem::path& file, std::string_view kernel_id, std::string_view metric,
                   const SampleSet& samples);

// Throw UsageError naming the file and what is wrong with it. parse_samples() is given the content.
SamplesFile read_samples(const std::filesystem::path& file);
SamplesFile parse_samples(std::string_view content, const std::string& file);

}  // namespace assay
