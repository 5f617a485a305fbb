// A worker's stream held back while launches are queued on it, and let go after a second if they wait for it: a launch
// that does would otherwise wait for ever.
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>

#include "device/worker_device.h"

namespace assay {

class HeldStream {
 public:
  explicit HeldStream(WorkerDevice& device);  // holds; throws what WorkerDevice::hold does
  ~HeldStream();                              // lets go
  HeldStream(const HeldStream&) = delete;
  HeldStream& operator=(const HeldStream&) = delete;

  // Everything is queued: the stream is no longer watched, and stays held. False when it had to be let go before.
  bool all_queued();

 private:
  WorkerDevice& device_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool watched_ = true;
  bool let_go_early_ = false;
  std::thread watch_;  // last: it uses the others
};

}  // namespace assay
