// Whether repeated launches keep memory, on the heap, in the process, of the device, or files.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <vector>

#include "record/record.h"
#include "worker/trial.h"

namespace assay {

// Something that launches should leave as it was, looked at after each.
class Gauge {
 public:
  explicit Gauge(int64_t before = 0) : before_(before), last_(before), highest_(before) {}
  void add(int64_t now);
  int64_t grown() const { return last_ - before_; }
  // It is more than before, and became more than ever at most of the launches, or at three and more of either half of
  // them: what grows once, or by a few steps, or goes up and down, is no leak.
  bool grows_steadily() const;

 private:
  int64_t before_, last_, highest_;
  std::vector<bool> grew_;  // at each launch
};

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
  // It fails, but only since a few MiB more are mapped or resident launch after launch: a library's heap may reach its
  // size so (gemm/onednn:m=1500,n=1500,k=64,dtype=f32 of two threads on a Zen 3: some 300 KB at each of its first 30
  // launches, and nothing later).
  bool may_settle() const { return climbs() && !leaks(); }

 private:
  bool leaks() const;
  bool climbs() const;
  int64_t median_on_device() const;

  pid_t worker_;
  int64_t resident_at_start_;
  std::vector<int64_t> on_device_;  // of each launch
  Gauge heap_, mapped_, resident_, files_;
  size_t allocating_ = 0;  // launches
  bool counted_ = true;
};

}  // namespace assay
