// Kernels of the CPU: regions are pages of a memfd, launches run in the worker's own thread.
#pragma once

#include <map>

#include "device/worker_device.h"

namespace assay {

class HostWorkerDevice : public WorkerDevice {
 public:
  HostWorkerDevice();  // reserves the address range; throws Error
  ~HostWorkerDevice() override;
  HostWorkerDevice(const HostWorkerDevice&) = delete;
  HostWorkerDevice& operator=(const HostWorkerDevice&) = delete;

  assay_device id() const override { return {1, 0}; }
  void take(const Block& block) override;
  void forget(uint64_t block) override;
  std::vector<void*> map(const std::vector<Region>& regions, Addresses = Addresses::fresh) override;
  ReservedRange reserved() const override;
  void* stream() override { return nullptr; }
  void wait() override {}
  int64_t memory_in_use() override { return 0; }

 private:
  void unmap();
  std::map<uint64_t, int> files_;  // by block
  std::byte* range_ = nullptr;
  uint64_t cursor_ = 0;
  uint64_t mapped_from_ = 0;
};

}  // namespace assay
