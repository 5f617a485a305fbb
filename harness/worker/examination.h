// Every correctness check of one case on one kernel, in the order of the table in record/verdict.cpp. Two workers take
// part: `first` does nearly all of it, `second` is the other process that "same-restart" compares with.
#pragma once

#include "core/op.h"
#include "device/memory.h"
#include "record/record.h"
#include "worker/judge_client.h"
#include "worker/laboratory.h"
#include "worker/subject.h"

namespace assay {

// A case is launched over inputs of its seed plus this before it is over its own: far from the seeds that cases use.
inline constexpr uint64_t kStaleSeed = 1000003;

struct Court {
  const JudgeSettings* settings;
  Subject* first;
  Subject* second;
  Subject* timing;  // takes no part; named so that it is not taken for a stray process
  Memory* memory;
  Laboratory* laboratory;
  Company company = Company::none;
};

// The record, without verdict and without the checks against goldens ("truth", "golden-bits", "statistical"), which the
// coordinator adds. Whatever the kernel does is in the record; only errors of the harness throw.
Record examine(const Court& court, const KernelInfo& kernel, const Op& op, const Case& c);

}  // namespace assay
