#include "worker/timing.h"

#include <sys/resource.h>

#include <algorithm>
#include <ctime>
#include <string>
#include <utility>

#include "core/error.h"
#include "measure/sampler_cuda.h"
#include "measure/summary.h"
#include "measure/transfer_cuda.h"

namespace assay {

using nlohmann::json;

namespace {

SamplerOptions options_for(const json& message) {
  SamplerOptions options;
  options.name = message.at("label").get<std::string>() + " " + message.at("metric").get<std::string>();
  const int64_t turns = message.at("turns");
  const auto share = [&](int64_t count) { return (count + turns - 1) / turns; };
  options.budget_seconds = message.at("seconds").get<double>() / static_cast<double>(turns);
  options.enough = share(message.at("enough"));
  options.enough_seconds = message.at("enough_seconds").get<double>() / static_cast<double>(turns);
  options.warm_up_seconds /= static_cast<double>(turns);
  options.single = message.at("single");
  // The first one finds what others left in the caches.
  options.warm_up_launches = std::max<int64_t>(2, share(options.warm_up_launches));
  const int64_t most = share(message.at("samples"));
  for (int64_t* count : {&options.below_50us, &options.below_500us, &options.longer, &options.least}) {
    *count = std::min(share(*count), most);
  }
  return options;
}

// Keeps what the buffers hold now. What is returned has them hold it again.
std::function<void()> keep_on_host(const std::vector<AddressRange>& buffers) {
  std::vector<std::vector<std::byte>> kept;
  for (const AddressRange& buffer : buffers) {
    const auto* bytes = static_cast<const std::byte*>(buffer.begin);
    kept.emplace_back(bytes, bytes + buffer.bytes);
  }
  return [buffers, kept = std::move(kept)] {
    for (size_t i = 0; i < buffers.size(); ++i) {
      std::copy(kept[i].begin(), kept[i].end(), static_cast<std::byte*>(const_cast<void*>(buffers[i].begin)));
    }
  };
}

// What the calling thread does in launches.
class Caller {
 public:
  void begins() { began_ = use(); }
  void ends() {
    const Use now = use();
    in_all_.ns += now.ns - began_.ns;
    in_all_.computed_ns += now.computed_ns - began_.computed_ns;
    in_all_.sleeps += now.sleeps - began_.sleeps;
  }
  // It computed for less than half of the time, and not because others had its processor: it gave that up, which a
  // caller that computes does in no launch. One that sleeps does in each, but where its virtual processor is taken away
  // as it wakes the others, and they have ended when that comes back: half of the launches, at times.
  bool has_slept_in(int64_t launches) const {
    return 2 * in_all_.computed_ns < in_all_.ns && 4 * in_all_.sleeps > launches;
  }

 private:
  struct Use {
    int64_t ns = 0, computed_ns = 0, sleeps = 0;
  };
  static Use use() {
    rusage used{};
    ::getrusage(RUSAGE_THREAD, &used);
    timespec computed{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &computed);
    return {now_ns(), computed.tv_sec * 1'000'000'000 + computed.tv_nsec, used.ru_nvcsw};
  }
  Use began_, in_all_;
};

// A kernel whose caller sleeps meanwhile is sampled again, with its threads let go.
SampleSet sample_on_host(const json& message, OwnThreads& threads, const Buffers& buffers,
                         const std::function<void()>& launch) {
  Caller caller;
  int64_t launches = 0;
  const auto counted = [&] {
    ++launches;
    launch();
  };
  const std::function<void()> flush = [&] {
    caller.ends();
    flush_from_caches(buffers.all);
    caller.begins();
  };
  const bool is_cold = message.at("metric") == "cold";
  const auto arm = keep_on_host(buffers.armed);
  const auto sampled = [&] {
    return sample(options_for(message), counted, is_cold ? flush : std::function<void()>(), arm);
  };
  caller.begins();
  SampleSet samples = sampled();
  caller.ends();
  if (!threads.has_placed() || !caller.has_slept_in(launches)) return samples;
  threads.let_go();
  return sampled();
}

}  // namespace

json sample_set_to_json(const SampleSet& s) {
  return {{"nanoseconds", s.nanoseconds},
          {"batch", s.batch},
          {"coarse", s.coarse},
          {"warm_up_launches", s.warm_up_launches},
          {"quantum_ns", s.quantum_ns},
          {"empty_pair_ns", s.empty_pair_ns},
          {"involuntary_switches", s.involuntary_switches},
          {"sm_mhz", s.sm_mhz}};
}

SampleSet sample_set_from_json(const json& value) {
  return {.nanoseconds = value.at("nanoseconds"),
          .batch = value.at("batch"),
          .coarse = value.at("coarse"),
          .warm_up_launches = value.at("warm_up_launches"),
          .quantum_ns = value.at("quantum_ns"),
          .empty_pair_ns = value.at("empty_pair_ns"),
          .involuntary_switches = value.at("involuntary_switches"),
          .sm_mhz = value.at("sm_mhz")};
}

#ifdef ASSAY_CUDA
namespace {

// How long the host is busy queuing one launch, on an idle device.
SampleSet sample_dispatch(const SamplerOptions& options, WorkerDevice& device, const std::function<void()>& launch) {
  SampleSet set{.quantum_ns = measure_clock().quantum_ns, .empty_pair_ns = measure_clock().empty_pair_ns};
  device.wait();
  for (int64_t i = 0; i < options.below_50us; ++i) {
    const int64_t start = now_ns();
    launch();
    set.nanoseconds.push_back(now_ns() - start);
    device.wait();
  }
  set.coarse = summarize("", set, "").p50_us * 1e3 < static_cast<double>(shortest_interval_ns(measure_clock()));
  return set;
}

json time_around(const json& message, WorkerDevice& device, const Buffers& buffers, const std::function<void()>& launch,
                 const std::function<void()>& arm) {
  SamplerOptions options = options_for(message);
  json metrics{{"dispatch", sample_set_to_json(sample_dispatch(options, device, launch))}};
  arm();
  launch();
  device.wait();
  options.budget_seconds /= 4;  // three metrics that say more of the machine than of the kernel
  if (buffers.workspace > 0) {
    metrics["allocate_workspace"] = sample_set_to_json(sample_allocation(options, buffers.workspace));
  }
  for (const auto& [metric, moved, direction] : {std::tuple{"copy_in", &buffers.inputs, Direction::to_device},
                                                 {"copy_out", &buffers.outputs, Direction::from_device}}) {
    if (!moved->empty()) metrics[metric] = sample_set_to_json(sample_copies(options, *moved, direction));
  }
  return metrics;
}

json time_on_stream(const json& message, WorkerDevice& device, const Buffers& buffers,
                    const std::function<void()>& launch) {
  const std::string metric = message.at("metric");
  const std::function<void()> arm = keep_on_device(buffers.armed, device.stream());
  if (metric == "around") return time_around(message, device, buffers, launch, arm);
  const Caches caches = metric == "warm" ? Caches::warm : Caches::cold;
  return {{metric, sample_set_to_json(sample_on_gpu(options_for(message), device, launch, caches, arm))}};
}

}  // namespace
#endif

json time_launches(const json& message, WorkerDevice& device, OwnProcess& process, const Buffers& buffers,
                   const std::function<void()>& launch) {
  const std::string metric = message.at("metric");
  const auto launch_and_wait = [&] {
    launch();
    device.wait();
  };
  OwnThreads& threads = process.threads;
  if (device.stream() == nullptr) threads.place();
  json metrics = json::object();
  if (metric == "first_call") {
    SampleSet first;
    const int64_t start = now_ns();
    launch_and_wait();
    first.nanoseconds = {now_ns() - start};
    metrics[metric] = sample_set_to_json(first);
#ifdef ASSAY_CUDA
  } else if (device.stream() != nullptr) {
    metrics = time_on_stream(message, device, buffers, launch);
#endif
  } else {
    process.pages.take();
    metrics[metric] = sample_set_to_json(sample_on_host(message, threads, buffers, launch_and_wait));
  }
  if (device.stream() == nullptr && !threads.wait_until_at_rest() && message.at("others_follow")) {
    throw Error("its threads still compute a second after its last launch, and would while others are timed");
  }
  return metrics;
}

}  // namespace assay
