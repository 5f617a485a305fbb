// Whether repeated launches keep memory: on the heap, in the process, of the device.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <vector>

#include "record/record.h"
#include "worker/trial.h"

namespace assay {

class MemoryGrowth {
 public:
  explicit MemoryGrowth(pid_t worker);  // before the first of the launches
  void add(const LaunchCost& cost);     // after each

  // Bytes by which the worker's resident size has grown by now.
  int64_t resident() const;

  // Of the device's memory in use, which is everybody's: what others take or give back at a time is no median.
  bool is_steady_on_device() const;
  std::string on_device() const;  // that, in words

  // The check "growth" as far as heap and process tell.
  CheckResult of_process(bool may_allocate) const;

 private:
  int64_t median_on_device() const;

  pid_t worker_;
  int64_t resident_at_start_;
  std::vector<int64_t> on_device_;  // of each launch
  int64_t heap_at_start_ = 0, heap_ = 0;
  size_t growing_ = 0, allocating_ = 0;  // launches
  bool counted_ = true;
};

}  // namespace assay
