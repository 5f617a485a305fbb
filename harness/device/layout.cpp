#include "device/layout.h"

#include <unistd.h>

#include <algorithm>

#include "core/error.h"

namespace assay {
namespace {

uint64_t round_up(uint64_t value, uint64_t multiple) { return (value + multiple - 1) / multiple * multiple; }

}  // namespace

uint64_t page_size() {
  static const auto size = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  return size;
}

Region place_region(uint64_t bytes, uint64_t alignment, uint64_t byte_offset, uint64_t element, Place place) {
  if (alignment == 0 || (alignment & (alignment - 1)) != 0 || alignment > page_size()) {
    throw UsageError("alignment " + std::to_string(alignment) + " is not a power of two up to a page");
  }
  Region region;
  region.bytes = bytes;
  region.alignment = byte_offset == 0 ? std::max(alignment, element) : element;
  const uint64_t needed = byte_offset + bytes + alignment + kLeastSlack;
  region.length = round_up(needed, page_size());
  region.base = place == Place::start ? 0 : (region.length - bytes - byte_offset) & ~(alignment - 1);
  region.first = region.base + byte_offset;
  return region;
}

Layout lay_out(const std::vector<TensorSpec>& tensors, uint64_t alignment, int64_t offset_elements, Place place,
               const Workspace& workspace) {
  Layout layout;
  const auto add = [&layout](Region region) {
    region.file_offset = layout.total;
    layout.total += region.length;
    layout.regions.push_back(region);
  };
  for (const TensorSpec& tensor : tensors) {
    const uint64_t element = size_of(tensor.dtype);
    add(place_region(static_cast<uint64_t>(tensor.span_elements()) * element, std::max<uint64_t>(alignment, element),
                     static_cast<uint64_t>(offset_elements) * element, element, place));
  }
  add(place_region(workspace.bytes, std::max<uint64_t>(workspace.alignment, 1), 0, 1, place));
  return layout;
}

}  // namespace assay
