// Which processors a thread may run on.
#pragma once

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/types.h>

#include <vector>

namespace assay {

using Processors = std::vector<int>;

// 0: of the calling thread.
inline Processors processors_of(pid_t thread) {
  cpu_set_t set;
  EXPECT_EQ(::sched_getaffinity(thread, sizeof set, &set), 0);
  Processors processors;
  for (int i = 0; i < CPU_SETSIZE; ++i) {
    if (CPU_ISSET(i, &set)) processors.push_back(i);
  }
  return processors;
}

}  // namespace assay
