// How delayed.cpp makes a launch take longer. A file of each kind of device defines make_delay(): delay_cpu.cpp by the
// host's time stamp counter, delay_cuda.cu by kernels before and behind the launch in its stream.
#pragma once

#include <assay/abi.h>

#include <memory>

namespace delayed {

class Delay {
 public:
  virtual ~Delay() = default;
  // Launches the kernel so that it takes `times` (1 or more) times as long. What measuring costs is there with 1 too.
  // Why it could not, or NULL.
  virtual const char* launch(const assay_kernel& kernel, const void* plan, void* stream, void* const* pointers,
                             double times) = 0;
};

// Of one plan. NULL where the device is not to be had.
std::unique_ptr<Delay> make_delay();

}  // namespace delayed
