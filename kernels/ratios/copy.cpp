// The streaming copy, on whatever instruction set the kernels it is compared with would choose.
#include "common/targets.h"

// foreach_target compiles this file once an instruction set, from its line on: the order matters.
// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ratios/copy.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// clang-format on

#include "hwy/cache_control.h"

HWY_BEFORE_NAMESPACE();
namespace assay::ratios::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Both pointers at pages, `bytes` whole pages.
void stream_pages(const uint8_t* from, uint8_t* to, size_t bytes) {
  const hn::ScalableTag<uint8_t> d;
  const size_t lanes = hn::Lanes(d);
  for (size_t i = 0; i < bytes; i += lanes) hn::Stream(hn::Load(d, from + i), d, to + i);
  hwy::FlushStream();
}

}  // namespace assay::ratios::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "copy.h"
#include "device/layout.h"

namespace assay::ratios {

HWY_EXPORT(stream_pages);

namespace {

// Hands each thread one run of pages.
template <class Copy>
void in_parallel(uint64_t bytes, int threads, const Copy& copy) {
  const uint64_t pages = bytes / page_size();
#pragma omp parallel for num_threads(threads) schedule(static, 1)
  for (int t = 0; t < threads; ++t) {
    const uint64_t begin = pages * t / threads * page_size(), end = pages * (t + 1) / threads * page_size();
    copy(begin, end - begin);
  }
}

std::byte* filled_pages(uint64_t bytes) {
  auto* pages = static_cast<std::byte*>(std::aligned_alloc(page_size(), bytes));
  std::fill_n(pages, bytes, std::byte{1});
  return pages;
}

}  // namespace

CopyBuffers::CopyBuffers(uint64_t bytes, int threads)
    : bytes_((bytes + page_size() - 1) / page_size() * page_size()),
      threads_(threads),
      from_(filled_pages(bytes_)),
      to_(filled_pages(bytes_)) {}

void CopyBuffers::stream() {
  const auto* from = reinterpret_cast<const uint8_t*>(from_.get());
  auto* to = reinterpret_cast<uint8_t*>(to_.get());
  in_parallel(bytes_, threads_, [from, to](uint64_t begin, uint64_t size) {
    HWY_DYNAMIC_DISPATCH(stream_pages)(from + begin, to + begin, size);
  });
}

void CopyBuffers::plain() {
  in_parallel(bytes_, threads_,
              [this](uint64_t begin, uint64_t size) { std::memcpy(to_.get() + begin, from_.get() + begin, size); });
}

}  // namespace assay::ratios

#endif
