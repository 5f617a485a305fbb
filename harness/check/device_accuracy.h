// judge_accuracy() on the current CUDA device: output, reference and bounds are read there, and the ErrorSummary is the
// host's, every figure of it, since elements are judged by the same function (element.h) and sums have one order.
#pragma once

#include <cstdint>

#include "check/element.h"
#include "core/device_memory.h"
#include "core/device_oracle.h"
#include "record/record.h"

namespace assay {

// One output tensor, judged in chunks of ascending elements.
class DeviceAccuracy {
 public:
  // Throws Error when `answer` is about another tensor or dtype: a harness fault that must not look like a pass.
  DeviceAccuracy(const TensorSpec& spec, const DeviceOutput& answer, const Contract& contract, void* stream);

  // Logical elements [first, first + count) of the output whose element (0,...,0) is at `got`; reference and bounds
  // hold `count` values each. Chunks follow one another without gap. Returns before the device is done.
  void judge(const void* got, int64_t first, int64_t count, const DeviceReference& reference,
             const DeviceBounds& bounds);

  // Waits for the device. Throws Error unless every element was judged.
  ErrorSummary finish();

 private:
  TensorSpec spec_;
  JudgeRules rules_;
  void* stream_;
  int64_t judged_ = 0;
  int turn_ = 0;     // of the next chunk
  unsigned blocks_;  // of a launch
  DeviceMemory state_, block_sums_, candidates_;
};

}  // namespace assay
