#include "device/worker_device.h"

#include "core/error.h"

namespace assay {
namespace {

[[noreturn]] void no_streams() { throw Error("this device has no streams"); }

}  // namespace

void* WorkerDevice::other_stream() { no_streams(); }
Captured WorkerDevice::capture_and_replay(const std::function<const char*()>&) { no_streams(); }
void WorkerDevice::hold() { no_streams(); }
void WorkerDevice::release() { no_streams(); }
void WorkerDevice::let_strays_finish() { no_streams(); }
void WorkerDevice::queue_load() { no_streams(); }

}  // namespace assay
