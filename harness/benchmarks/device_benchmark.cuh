// What the benchmarks of the harness on a CUDA device share: medians, the host's clock, and how they end.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <functional>
#include <vector>

#include "core/cuda.cuh"
#include "core/device_memory.h"

namespace assay::benchmarks {

inline double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

// Median milliseconds on the host's clock, the device being idle before and after.
inline double wall(int repeats, const std::function<void()>& work) {
  std::vector<double> milliseconds;
  for (int i = 0; i < repeats; ++i) {
    require_cuda(cudaDeviceSynchronize(), "timing");
    const auto start = std::chrono::steady_clock::now();
    work();
    require_cuda(cudaDeviceSynchronize(), "timing");
    milliseconds.push_back(1e3 * std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return median(milliseconds);
}

// The exit code of `run`, or 4 and one line where there is no device or it throws.
inline int exit_code_of(const char* program, const std::function<int()>& run) {
  try {
    if (cuda_devices() > 0) return run();
    std::fprintf(stderr, "%s: no CUDA device\n", program);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s: %s\n", program, e.what());
  }
  return 4;
}

}  // namespace assay::benchmarks
