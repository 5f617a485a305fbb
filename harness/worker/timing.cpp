#include "worker/timing.h"

#include <algorithm>

namespace assay {

using nlohmann::json;

namespace {

SamplerOptions options_for(const json& message, const char* metric) {
  SamplerOptions options;
  options.name = message.at("label").get<std::string>() + " " + metric;
  options.budget_seconds = message.at("seconds");
  const int64_t most = message.at(metric);
  options.below_50us = std::min(options.below_50us, most);
  options.below_500us = std::min(options.below_500us, most);
  options.longer = std::min(options.longer, most);
  options.least = std::min(options.least, most);
  return options;
}

}  // namespace

json sample_set_to_json(const SampleSet& s) {
  return {{"nanoseconds", s.nanoseconds},
          {"batch", s.batch},
          {"coarse", s.coarse},
          {"warm_up_launches", s.warm_up_launches},
          {"quantum_ns", s.quantum_ns},
          {"empty_pair_ns", s.empty_pair_ns},
          {"involuntary_switches", s.involuntary_switches}};
}

SampleSet sample_set_from_json(const json& value) {
  return {.nanoseconds = value.at("nanoseconds"),
          .batch = value.at("batch"),
          .coarse = value.at("coarse"),
          .warm_up_launches = value.at("warm_up_launches"),
          .quantum_ns = value.at("quantum_ns"),
          .empty_pair_ns = value.at("empty_pair_ns"),
          .involuntary_switches = value.at("involuntary_switches")};
}

json time_launches(const json& message, const std::vector<AddressRange>& buffers, const std::function<void()>& launch) {
  SampleSet first;
  const int64_t start = now_ns();
  launch();
  first.nanoseconds = {now_ns() - start};
  const SampleSet warm = sample(options_for(message, "warm"), launch);
  const SampleSet cold = sample(options_for(message, "cold"), launch, [&] { flush_from_caches(buffers); });
  return {{"first_call", sample_set_to_json(first)},
          {"warm", sample_set_to_json(warm)},
          {"cold", sample_set_to_json(cold)}};
}

}  // namespace assay
