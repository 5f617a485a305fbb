#include "worker/manner.h"

#include <array>
#include <optional>

#include "core/error.h"
#include "worker/hold_ups.h"

namespace assay {
namespace {

using nlohmann::json;

constexpr std::array<std::string_view, 7> kNames{"plain",       "held_up",  "beside_callers", "other_stream",
                                                 "beside_load", "replayed", "blocked"};

json to_json(const Captured& captured) {
  json kernels = json::array();
  for (const QueuedKernel& k : captured.kernels) {
    kernels.push_back({{"name", k.name},
                       {"grid", k.grid},
                       {"block", k.block},
                       {"registers", k.registers},
                       {"local_bytes", k.local_bytes},
                       {"shared_bytes", k.shared_bytes}});
  }
  return {{"why_not", captured.why_not}, {"kernels", kernels}, {"allocations", captured.allocations}};
}

json answer_for(const char* error) { return error != nullptr ? json{{"failed", error}} : json::object(); }

json launch_blocked(WorkerDevice& device, std::unique_ptr<HeldStream>& held, const LaunchOn& launch) {
  held = std::make_unique<HeldStream>(device);
  const char* error = launch(device.stream());
  json answer = answer_for(error);
  const bool waited = !held->all_queued();
  if (!waited) device.let_strays_finish();
  if (error != nullptr) finish_blocked(device, held);
  answer["waited"] = waited;
  return answer;
}

}  // namespace

std::string_view name_of(Manner manner) { return kNames[static_cast<size_t>(manner)]; }

Manner manner_named(std::string_view name) {
  for (size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == name) return static_cast<Manner>(i);
  }
  throw Error("unknown manner of launching '" + std::string(name) + "'");
}

json launch_in(Manner manner, WorkerDevice& device, std::unique_ptr<HeldStream>& held, const LaunchOn& launch) {
  if (manner == Manner::blocked) return launch_blocked(device, held, launch);
  if (manner == Manner::replayed) {
    const Captured captured = device.capture_and_replay([&] { return launch(device.stream()); });
    device.wait();
    return {{"graph", to_json(captured)}};
  }
  void* const stream = manner == Manner::other_stream ? device.other_stream() : device.stream();
  if (manner == Manner::beside_load) device.queue_load();
  std::optional<HoldUps> hold_ups;
  if (manner == Manner::held_up) hold_ups.emplace();
  json answer = answer_for(launch(stream));
  hold_ups.reset();
  device.wait();
  return answer;
}

void finish_blocked(WorkerDevice& device, std::unique_ptr<HeldStream>& held) {
  held.reset();
  device.wait();
}

}  // namespace assay
