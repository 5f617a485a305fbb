#include "device/layout.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "core/draw.h"
#include "core/error.h"

namespace assay {
namespace {

// Half of what a mapping can address. Sizes beyond it would wrap around further on.
constexpr double kLargest = 0x1p39;

constexpr uint64_t kCacheLine = 64, kScattered = 4096;  // bytes

void require_addressable(const TensorSpec& tensor) {
  double bytes = static_cast<double>(size_of(tensor.dtype)), span = 1;
  for (const int64_t extent : tensor.shape) bytes *= static_cast<double>(extent);
  for (size_t axis = 0; axis < tensor.shape.size(); ++axis) {
    span += static_cast<double>(tensor.shape[axis] - 1) * static_cast<double>(tensor.strides[axis]);
  }
  bytes = std::max(bytes, span * static_cast<double>(size_of(tensor.dtype)));
  if (bytes <= kLargest) return;
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", bytes);
  throw Error("the case needs " + std::string(text) + " bytes for " + tensor.name + ", more than can be addressed");
}

uint64_t round_up(uint64_t value, uint64_t multiple) { return (value + multiple - 1) / multiple * multiple; }

}  // namespace

uint64_t page_size() {
  static const auto size = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  return size;
}

Region place_region(uint64_t bytes, uint64_t alignment, uint64_t byte_offset, uint64_t element, Place place,
                    uint64_t granularity) {
  if (alignment == 0 || (alignment & (alignment - 1)) != 0 || alignment > page_size()) {
    throw UsageError("alignment " + std::to_string(alignment) + " is not a power of two up to a page");
  }
  Region region;
  region.bytes = bytes;
  region.alignment = byte_offset == 0 ? std::max(alignment, element) : element;
  const uint64_t step_back = place == Place::barely_aligned ? alignment : 0;
  const uint64_t needed = byte_offset + bytes + alignment + step_back + kLeastSlack;
  region.length = round_up(needed, granularity);
  region.base = place == Place::start ? 0 : (region.length - bytes - byte_offset) & ~(alignment - 1);
  if (region.base / alignment % 2 == 0) region.base -= step_back;
  region.first = region.base + byte_offset;
  return region;
}

Layout lay_out(const std::vector<TensorSpec>& tensors, uint64_t alignment, int64_t offset_elements, Place place,
               const Workspace& workspace, uint64_t granularity, uint64_t scatter) {
  Layout layout;
  Draw draw(scatter);
  const auto add = [&](uint64_t bytes, uint64_t aligned, uint64_t byte_offset, uint64_t element) {
    const uint64_t drawn = scatter == 0 ? 0 : static_cast<uint64_t>(draw.below(kScattered / kCacheLine));
    Region region = place_region(bytes + drawn * kCacheLine, aligned, byte_offset, element, place, granularity);
    region.bytes = bytes;
    layout.total += region.length;
    layout.regions.push_back(region);
  };
  for (const TensorSpec& tensor : tensors) {
    require_addressable(tensor);
    const uint64_t element = size_of(tensor.dtype);
    add(static_cast<uint64_t>(tensor.span_elements()) * element, std::max<uint64_t>(alignment, element),
        static_cast<uint64_t>(offset_elements) * element, element);
  }
  add(workspace.bytes, std::max<uint64_t>(workspace.alignment, 1), 0, 1);
  if (layout.total > static_cast<uint64_t>(kLargest)) {
    throw Error("the case needs " + std::to_string(layout.total) + " bytes, more than can be addressed");
  }
  return layout;
}

}  // namespace assay
