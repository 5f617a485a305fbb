// The worker's side of a device: the judge's blocks mapped between unmapped holes, and where launches run. Remapping
// moves every region to another address, and the old addresses stay unmapped for a while, so that a kernel that kept a
// pointer faults.
#pragma once

#include <assay/abi.h>

#include <array>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "device/memory.h"

namespace assay {

// The device refuses all further work of this process.
struct DeviceLost : std::runtime_error {
  DeviceLost(const std::string& what, bool by_access) : std::runtime_error(what), access(by_access) {}
  bool access;  // by an access to memory that is not the kernel's
};

// All that any launch is ever given, and the holes between.
struct ReservedRange {
  uint64_t begin = 0;
  uint64_t end = 0;
};

// A kernel that a launch queued, as the driver describes it.
struct QueuedKernel {
  std::string name;
  std::array<unsigned, 3> grid{}, block{};
  int registers = 0;     // a thread
  int local_bytes = 0;   // a thread: spills and arrays that no register holds
  int shared_bytes = 0;  // a block
};

// A launch as a graph of what it queued.
struct Captured {
  std::string why_not;  // it could not be captured; empty: it was
  std::vector<QueuedKernel> kernels;
  int allocations = 0;  // nodes that take memory or give it back
};

class WorkerDevice {
 public:
  virtual ~WorkerDevice() = default;

  virtual assay_device id() const = 0;

  // A block of the judge's memory; its file is this object's from now on.
  virtual void take(const Block& block) = 0;
  // Unmaps all regions and lets go of one block; of one it does not have, nothing.
  virtual void forget(uint64_t block) = 0;
  // Base pointers of the regions, in order; nullptr for one of 0 bytes that is the last (no workspace).
  virtual std::vector<void*> map(const std::vector<Region>& regions, Addresses addresses = Addresses::fresh) = 0;
  // Empty where an access outside it does not end the process by a signal.
  virtual ReservedRange reserved() const = 0;

  virtual void* stream() = 0;  // of every launch; null on a CPU
  // Before a launch: where kernels compute in memory of this process, what regions hold (Region::filled) comes there.
  virtual void bring_in() {}
  // Returns when all that was launched is done. Throws DeviceLost, or Error for a failure that leaves it usable.
  virtual void wait() = 0;
  // ---- where has_streams(device); elsewhere these throw Error ----

  virtual void* other_stream();
  // Runs `launch`, which queues on stream(), into a graph and replays that in its place.
  virtual Captured capture_and_replay(const std::function<const char*()>& launch);
  // Nothing queued on stream() from hold() on begins before release(), which any thread may call.
  virtual void hold();
  virtual void release();
  // Returns when work that strayed to a default stream has had the time to be done.
  virtual void let_strays_finish();
  // Other work that runs beside what is launched next.
  virtual void queue_load();

  // Bytes of the device's own memory in use by everybody, blocks included; 0 where heap is all there is.
  virtual int64_t memory_in_use() = 0;
};

std::unique_ptr<WorkerDevice> make_worker_device(Device device);
// For a process that a sanitizer watches: kernels compute in memory of its own where the device is not the CPU, the
// judge's is the CPU's, and nothing comes back.
std::unique_ptr<WorkerDevice> make_private_worker_device(Device device);

}  // namespace assay
