#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "core/cuda.cuh"
#include "device/held_stream.h"
#include "measure/sampler_cuda.h"

namespace assay {
namespace {

constexpr int kGroup = 32;  // samples queued behind one hold: far from the depth of a stream's queue
constexpr int kEmptyPairs = 8 * kGroup;
constexpr int64_t kShortestQuanta = 20;

class Event {
 public:
  Event() { require_cuda(cudaEventCreate(&event_), "cudaEventCreate"); }
  ~Event() { (void)cudaEventDestroy(event_); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  void record(cudaStream_t stream) { require_cuda(cudaEventRecord(event_, stream), "cudaEventRecord"); }
  friend int64_t nanoseconds_between(const Event& a, const Event& b) {
    float milliseconds = 0;
    require_cuda(cudaEventElapsedTime(&milliseconds, a.event_, b.event_), "cudaEventElapsedTime");
    return std::llround(double{milliseconds} * 1e6);
  }

 private:
  cudaEvent_t event_ = nullptr;
};

// Where a multiprocessor's clock stands, and the time.
struct Reading {
  unsigned multiprocessor;
  long long cycles;
  unsigned long long nanoseconds;
};

__global__ void read_clock(Reading* reading) {
  unsigned multiprocessor;
  unsigned long long now;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(multiprocessor));
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  *reading = {multiprocessor, clock64(), now};
}

// Memory of the device, for flushes and readings.
class DeviceBuffer {
 public:
  explicit DeviceBuffer(size_t bytes) : bytes_(bytes) {
    require_cuda(cudaMalloc(&data_, bytes), "cudaMalloc for sampling");
  }
  ~DeviceBuffer() { (void)cudaFree(data_); }
  DeviceBuffer(const DeviceBuffer&) = delete;
  DeviceBuffer& operator=(const DeviceBuffer&) = delete;
  void* data() const { return data_; }
  size_t bytes() const { return bytes_; }

 private:
  void* data_ = nullptr;
  size_t bytes_;
};

size_t l2_bytes() {
  int device = 0, bytes = 0;
  require_cuda(cudaGetDevice(&device), "cudaGetDevice");
  require_cuda(cudaDeviceGetAttribute(&bytes, cudaDevAttrL2CacheSize, device), "asking the size of the L2");
  return static_cast<size_t>(std::max(bytes, 1 << 20));
}

int64_t involuntary_switches() {
  rusage usage{};
  ASSAY_SYSTEM(getrusage(RUSAGE_SELF, &usage));
  return usage.ru_nivcsw;
}

int64_t median(std::vector<int64_t> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

class GpuSampler {
 public:
  GpuSampler(WorkerDevice& device, Caches caches)
      : device_(device),
        stream_(static_cast<cudaStream_t>(device.stream())),
        flushed_(caches == Caches::cold ? std::make_unique<DeviceBuffer>(2 * l2_bytes()) : nullptr),
        readings_(2 * kGroup * sizeof(Reading)) {
    // Once before anything is held: what is loaded at its first use may wait for the device.
    read_clock<<<1, 1, 0, stream_>>>(static_cast<Reading*>(readings_.data()));
    require_cuda(cudaGetLastError(), "reading the clock");
    before_[0].record(stream_);
    if (flushed_ != nullptr) flush();
    device_.wait();
  }

  bool can_hold() const { return can_hold_; }

  // Samples of one group; SM clocks in MHz beside them, 0 where a sample does not tell.
  struct Group {
    std::vector<int64_t> nanoseconds;
    std::vector<double> sm_mhz;
  };
  Group take(int count, const std::function<void()>& launch, const std::function<void()>& before_last = nullptr) {
    auto* const readings = static_cast<Reading*>(readings_.data());
    std::unique_ptr<HeldStream> held;
    if (can_hold_) held = std::make_unique<HeldStream>(device_);
    for (int i = 0; i < count; ++i) {
      if (before_last && i + 1 == count) before_last();
      if (flushed_ != nullptr) flush();
      read_clock<<<1, 1, 0, stream_>>>(readings + 2 * i);
      before_[i].record(stream_);
      launch();
      after_[i].record(stream_);
      read_clock<<<1, 1, 0, stream_>>>(readings + 2 * i + 1);
      require_cuda(cudaGetLastError(), "reading the clock");
    }
    const bool was_held = held == nullptr || held->all_queued();
    held.reset();
    device_.wait();
    if (!was_held) {  // the launch waits for its own work: the host's time lies between the events
      can_hold_ = false;
      return take(count, launch, before_last);
    }
    std::vector<Reading> read(2 * static_cast<size_t>(count));
    require_cuda(cudaMemcpy(read.data(), readings, read.size() * sizeof(Reading), cudaMemcpyDeviceToHost),
                 "reading clocks");
    Group group;
    for (int i = 0; i < count; ++i) {
      group.nanoseconds.push_back(nanoseconds_between(before_[i], after_[i]));
      group.sm_mhz.push_back(megahertz(read[2 * i], read[2 * i + 1]));
    }
    return group;
  }

 private:
  void flush() { require_cuda(cudaMemsetAsync(flushed_->data(), 1, flushed_->bytes(), stream_), "flushing"); }

  static double megahertz(const Reading& a, const Reading& b) {
    const auto ns = static_cast<double>(b.nanoseconds - a.nanoseconds);
    if (a.multiprocessor != b.multiprocessor || !(ns > 5000)) return 0;
    return static_cast<double>(b.cycles - a.cycles) / ns * 1e3;
  }

  WorkerDevice& device_;
  cudaStream_t stream_;
  std::unique_ptr<DeviceBuffer> flushed_;
  DeviceBuffer readings_;
  bool can_hold_ = true;
  Event before_[kGroup], after_[kGroup];
};

// Of pairs of events with nothing between: their median, and the smallest step between two that differ.
ClockFacts measure_events(GpuSampler& sampler) {
  std::vector<int64_t> pairs;
  for (int i = 0; i < kEmptyPairs; i += kGroup) {
    const auto more = sampler.take(kGroup, [] {}).nanoseconds;
    pairs.insert(pairs.end(), more.begin(), more.end());
  }
  const int64_t middle = median(pairs);
  std::sort(pairs.begin(), pairs.end());
  int64_t quantum = 0;
  for (size_t i = 1; i < pairs.size(); ++i) {
    const int64_t step = pairs[i] - pairs[i - 1];
    if (step > 0 && (quantum == 0 || step < quantum)) quantum = step;
  }
  return {quantum, middle};
}

}  // namespace

SampleSet sample_on_gpu(const SamplerOptions& options, WorkerDevice& device, const std::function<void()>& launch,
                        Caches caches, const std::function<void()>& before_last) {
  GpuSampler sampler(device, caches);
  const ClockFacts clock = measure_events(sampler);
  SampleSet set{.quantum_ns = clock.quantum_ns, .empty_pair_ns = clock.empty_pair_ns};

  std::vector<int64_t> warm;
  const int64_t begin = now_ns();
  const auto enough_ns = static_cast<int64_t>(options.warm_up_seconds * 1e9);
  while (std::ssize(warm) < std::max<int64_t>(1, options.warm_up_launches) || now_ns() - begin < enough_ns) {
    const auto more = sampler.take(1, launch).nanoseconds;
    warm.insert(warm.end(), more.begin(), more.end());
  }
  set.warm_up_launches = std::ssize(warm);
  const double sample_seconds = static_cast<double>(now_ns() - begin) * 1e-9 / static_cast<double>(warm.size());
  const int64_t count = sample_count(options, sample_seconds, static_cast<double>(median(warm)) * 1e-9);

  const int64_t switches = involuntary_switches();
  while (std::ssize(set.nanoseconds) < count) {
    const int64_t rest = count - std::ssize(set.nanoseconds);
    const GpuSampler::Group group = sampler.take(static_cast<int>(std::min<int64_t>(kGroup, rest)), launch);
    set.nanoseconds.insert(set.nanoseconds.end(), group.nanoseconds.begin(), group.nanoseconds.end());
    set.sm_mhz.insert(set.sm_mhz.end(), group.sm_mhz.begin(), group.sm_mhz.end());
  }
  set.involuntary_switches = involuntary_switches() - switches;
  if (before_last) sampler.take(static_cast<int>(std::min<int64_t>(kGroup, count)), launch, before_last);
  set.coarse = !sampler.can_hold() || (!options.single && median(set.nanoseconds) < kShortestQuanta * clock.quantum_ns);
  return set;
}

}  // namespace assay
