// The ways a worker carries out one launch, and what it sees of each. The judge names one by its word.
#pragma once

#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "device/held_stream.h"

namespace assay {

enum class Manner {
  plain,
  held_up,         // its threads are stopped at odd moments (hold_ups.h)
  beside_callers,  // while others call the kernel too (callers.h)
  other_stream,    // on a stream of its own
  beside_load,     // while other work runs on the device
  replayed,        // captured into a graph, which is replayed
  blocked,         // on a stream that is held back: what is queued in order cannot begin before finish_blocked()
};
std::string_view name_of(Manner manner);
Manner manner_named(std::string_view name);  // throws Error

// Queues on the stream it is given; null or the error.
using LaunchOn = std::function<const char*(void* stream)>;

// Carries it out and, but for `blocked`, waits until the work is done; `held` is then what holds the stream. The answer
// has "failed", or what the manner shows: "waited" (a blocked launch did not return by itself) or
// "graph" {"why_not", "kernels": [...], "allocations"}. Throws DeviceLost.
nlohmann::json launch_in(Manner manner, WorkerDevice& device, std::unique_ptr<HeldStream>& held,
                         const LaunchOn& launch);

// Lets a blocked launch go and waits until it is done.
void finish_blocked(WorkerDevice& device, std::unique_ptr<HeldStream>& held);

}  // namespace assay
