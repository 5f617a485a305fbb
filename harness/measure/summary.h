// From raw samples to the numbers of a record. Every sample counts: no outlier is removed, nothing is trimmed.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "measure/sampler.h"
#include "record/record.h"

namespace assay {

// Quantile of sorted values by linear interpolation between order statistics at (n - 1) p: type 7 of Hyndman and Fan,
// "Sample quantiles in statistical packages" (1996), the default of NumPy and R. NaN for no values.
double quantile(std::span<const double> sorted, double p);

// Fractions of the values above 1.05 times their median, stalls and second modes that the median does not see, and
// above 1.4 times: stalls alone, which are rarer on a busy machine than launches that are slow by a little.
double tail_mass(std::span<const double> values, double median);
double stall_mass(std::span<const double> values, double median);

// Microseconds a launch, in the order taken.
std::vector<double> launch_microseconds(const SampleSet& samples);

// `metric`: "warm", "cold", "prepare", "first_call". `samples_file`: where the raw samples are, relative to the run.
// Throws Error for no samples.
LatencySummary summarize(std::string metric, const SampleSet& samples, std::string samples_file);

}  // namespace assay
