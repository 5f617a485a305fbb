// What a timing worker measures of one plan: the first launch, warm launches and cold launches; where launches are
// queued, also what queuing one costs the host, and what a caller pays around it: an allocation for the workspace,
// inputs copied in and outputs copied out.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <vector>

#include "device/worker_device.h"
#include "measure/flush.h"
#include "measure/sampler.h"
#include "worker/own_pages.h"
#include "worker/own_threads.h"

namespace assay {

// Where a launch finds its tensors; one that is read and written is both. `armed` is what must hold, for a launch to be
// a right one and to be seen as one, what it holds now.
struct Buffers {
  std::vector<AddressRange> all, inputs, outputs, armed;
  size_t workspace = 0;  // bytes
};

struct OwnProcess {
  OwnThreads threads{};
  OwnPages pages{};
};

// `message` carries "metric" (first_call, warm, cold, or, where launches are queued, around: those of what a caller
// pays), "samples" (wanted at most), "seconds" (budget), "enough" and "enough_seconds" (so many samples at least, but
// in no longer time), "turns" (that share samples, seconds and warm-up: this is one
// of them), "single" (whether each sample is of one launch, however short), "others_follow" (whether another process is
// timed next) and "label". The answer holds one object a
// metric, as sample_set_to_json writes it. The last launch, which is not timed unless it is the only one, finds `armed`
// as it was before the first, so that one that skips its work leaves no right answer. `launch` need not wait for what
// it queues. Where launches are on the CPU, `process` is what they run in: its other threads are placed first, and
// waited for in the end, and its code gets pages of its own after the first call. Throws NotGiven where it does
// not, and Error where threads do not rest and others follow.
nlohmann::json time_launches(const nlohmann::json& message, WorkerDevice& device, OwnProcess& process,
                             const Buffers& buffers, const std::function<void()>& launch);

nlohmann::json sample_set_to_json(const SampleSet& samples);
SampleSet sample_set_from_json(const nlohmann::json& value);

}  // namespace assay
