// The memory of a case, owned by the judge on one device: handed to a worker piecewise as file descriptors, and never
// holding an expected value. What a launch needs is done where the memory is: stretches of a region are set and
// compared without moving them to the host.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "device/device.h"
#include "device/layout.h"

namespace assay {

// A file that workers map regions from. Descriptors are reused, ids are not.
struct Block {
  uint64_t id = 0;
  uint64_t bytes = 0;
  int file = -1;  // the memory's own
};

// Bytes [begin, end) of a region and what they hold: a period of 8 bytes in step with the start of the region, or what
// was kept under a number.
struct Stretch {
  static constexpr int kPeriodic = -1;
  const Region* region = nullptr;
  uint64_t begin = 0;
  uint64_t end = 0;
  std::array<std::byte, 8> period{};
  int kept = kPeriodic;
};

// How a stretch differs from what it should hold, byte by byte; offsets into the region, of the lowest and highest.
struct Mismatch {
  uint64_t count = 0;
  uint64_t first = 0;
  uint64_t last = 0;
};

class Memory {
 public:
  virtual ~Memory() = default;

  virtual Device device() const = 0;
  // What a region's length is a multiple of: no smaller piece can be mapped on its own.
  virtual uint64_t granularity() const = 0;

  // Gives each region its place (Region::block, block_offset); regions placed before lose theirs, and what was kept is
  // forgotten. Content is undefined. Throws Error when the device has no memory for it.
  virtual void place(std::vector<Region>& regions) = 0;
  // Of the machine's own memory, bytes it holds that a next place() gives back or uses again.
  virtual uint64_t host_bytes() const = 0;
  // Of the regions placed last, and others that may serve again.
  virtual std::vector<Block> blocks() const = 0;
  // Called when memory is short, before giving up: whoever maps blocks lets go of them.
  std::function<void()> on_shortage;

  // Bytes from and to outside lie in the machine's memory, or in that of this memory's own device.
  //
  // Keeps `bytes`, the content of `region` from its first element on, under a number of the caller's choice (from 0).
  // They must stay where they are, and change only together with another keep(), until the next place().
  virtual void keep(int number, const Region& region, std::span<const std::byte> bytes) = 0;

  // All of these see what a worker wrote before it answered, and are done on return.
  virtual void set(std::span<const Stretch> stretches) = 0;
  virtual std::vector<Mismatch> compare(std::span<const Stretch> stretches) = 0;
  virtual void read(const Region& region, uint64_t begin, std::span<std::byte> to) = 0;
};

// Throws UsageError where the device is not there.
std::unique_ptr<Memory> make_memory(Device device);

}  // namespace assay
