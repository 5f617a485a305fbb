// What a timing worker measures of one plan: the first launch, warm launches and cold launches.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <vector>

#include "measure/flush.h"
#include "measure/sampler.h"

namespace assay {

// `message` carries "warm" and "cold" (samples wanted at most), "seconds" (budget of each) and "label". The answer
// holds one object a metric, as sample_set_to_json writes it.
nlohmann::json time_launches(const nlohmann::json& message, const std::vector<AddressRange>& buffers,
                             const std::function<void()>& launch);

nlohmann::json sample_set_to_json(const SampleSet& samples);
SampleSet sample_set_from_json(const nlohmann::json& value);

}  // namespace assay
