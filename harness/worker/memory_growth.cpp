#include "worker/memory_growth.h"

#include <algorithm>
#include <string>

#include "record/verdict.h"
#include "worker/process.h"

namespace assay {
namespace {

// What steady launches may gain in all before it counts as growth: bookkeeping of threads that start late.
constexpr int64_t kHeapSlack = 64 << 10;
constexpr int64_t kResidentSlack = 16 << 20;
// The same at most of the launches: a library that allocates at each touches, launch by launch, further pages of what
// its heap has already (oneDNN's softmax 60 KiB in 18).
constexpr int64_t kSteadyResidentSlack = 1 << 20;
constexpr int64_t kDeviceSlack = 16 << 20;

}  // namespace

void Gauge::add(int64_t now) {
  grew_.push_back(now > highest_);
  highest_ = std::max(highest_, now);
  last_ = now;
}

bool Gauge::grows_steadily() const {
  constexpr std::ptrdiff_t kOften = 3;
  const auto middle = grew_.begin() + static_cast<std::ptrdiff_t>(grew_.size() / 2);
  const std::ptrdiff_t early = std::count(grew_.begin(), middle, true), late = std::count(middle, grew_.end(), true);
  const bool at_most = 2 * (early + late) > static_cast<std::ptrdiff_t>(grew_.size());
  return grown() > 0 && (at_most || (early >= kOften && late >= kOften));
}

MemoryGrowth::MemoryGrowth(pid_t worker)
    : worker_(worker),
      resident_at_start_(static_cast<int64_t>(own_memory(worker))),
      mapped_(static_cast<int64_t>(mapped_memory(worker))),
      resident_(resident_at_start_),
      files_(open_files(worker)) {}

void MemoryGrowth::add(const LaunchCost& cost) {
  if (on_device_.empty()) heap_ = Gauge(cost.outstanding);
  heap_.add(cost.outstanding);
  mapped_.add(static_cast<int64_t>(mapped_memory(worker_)));
  resident_.add(static_cast<int64_t>(own_memory(worker_)));
  files_.add(open_files(worker_));
  if (cost.allocations > 0) ++allocating_;
  counted_ = cost.counted;
  on_device_.push_back(cost.device_growth);
}

int64_t MemoryGrowth::resident() const { return static_cast<int64_t>(own_memory(worker_)) - resident_at_start_; }

int64_t MemoryGrowth::median_on_device() const {
  std::vector<int64_t> sorted = on_device_;
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>((sorted.size() - 1) / 2);  // the lower of two
  std::nth_element(sorted.begin(), middle, sorted.end());
  return *middle;
}

bool MemoryGrowth::is_steady_on_device() const {
  return median_on_device() * static_cast<int64_t>(on_device_.size()) > kDeviceSlack;
}

std::string MemoryGrowth::on_device() const {
  return "a launch leaves " + std::to_string(median_on_device()) + " bytes more of the device's memory in use";
}

bool MemoryGrowth::leaks() const {
  return heap_.grown() > kHeapSlack || resident_.grown() > kResidentSlack || heap_.grows_steadily() ||
         files_.grows_steadily();
}

bool MemoryGrowth::climbs() const {
  return mapped_.grows_steadily() || (resident_.grows_steadily() && resident_.grown() > kSteadyResidentSlack);
}

CheckResult MemoryGrowth::of_process(bool may_allocate) const {
  const size_t launches = on_device_.size();
  if (leaks() || climbs()) {
    return check_result("growth", Outcome::fail,
                        "over " + std::to_string(launches) + " launches the heap grew by " +
                            std::to_string(heap_.grown()) + " bytes, the resident size by " +
                            std::to_string(resident_.grown()) + ", what is mapped by " +
                            std::to_string(mapped_.grown()) + ", open files by " + std::to_string(files_.grown()));
  }
  if (allocating_ == launches && !may_allocate) {
    return check_result("growth", Outcome::fail, "every launch allocates, and the contract does not say may_allocate");
  }
  return check_result("growth", Outcome::pass, counted_ ? "" : "heap not counted: what is mapped and resident alone");
}

}  // namespace assay
