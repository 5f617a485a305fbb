#include "device/held_stream.h"

#include <chrono>

namespace assay {
namespace {

// How long queuing may take; it takes microseconds.
constexpr auto kPatience = std::chrono::milliseconds(1000);

}  // namespace

HeldStream::HeldStream(WorkerDevice& device) : device_(device) {
  device_.hold();
  watch_ = std::thread([this] {
    std::unique_lock lock(mutex_);
    if (changed_.wait_for(lock, kPatience, [this] { return !watched_; })) return;
    let_go_early_ = true;
    device_.release();
  });
}

bool HeldStream::all_queued() {
  {
    const std::lock_guard lock(mutex_);
    watched_ = false;
  }
  changed_.notify_one();
  if (watch_.joinable()) watch_.join();
  return !let_go_early_;
}

HeldStream::~HeldStream() {
  all_queued();
  device_.release();
}

}  // namespace assay
