// The streaming copies and the reads, on whatever instruction set the kernels they are compared with would choose.
#include "common/targets.h"

// foreach_target compiles this file once an instruction set, from its line on: the order matters.
// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ratios/traffic.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// clang-format on

#include "hwy/cache_control.h"

HWY_BEFORE_NAMESPACE();
namespace assay::ratios::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// kStreams runs of neighbouring bytes side by side. Pointers at cache lines, `bytes` a multiple of kStreams lines.
template <int kStreams>
void stream_copy(const uint8_t* from, uint8_t* to, size_t bytes) {
  const hn::ScalableTag<uint8_t> d;
  const size_t lanes = hn::Lanes(d), run = bytes / kStreams;
  for (size_t i = 0; i < run; i += lanes) {
    for (size_t k = 0; k < kStreams; ++k) hn::Stream(hn::Load(d, from + k * run + i), d, to + k * run + i);
  }
  hwy::FlushStream();
}

// The sum of kStreams runs side by side, two vectors of each at a time.
template <int kStreams>
uint64_t read_all(const uint8_t* from, size_t bytes) {
  const hn::ScalableTag<uint64_t> d;
  const size_t lanes = hn::Lanes(d) * sizeof(uint64_t), run = bytes / kStreams;
  auto even = hn::Zero(d), odd = hn::Zero(d);
  const auto next = [&](size_t i) HWY_ATTR {
    __builtin_prefetch(reinterpret_cast<const void*>(reinterpret_cast<uintptr_t>(from) + i + 4096));
    return hn::Load(d, reinterpret_cast<const uint64_t*>(from + i));
  };
  for (size_t i = 0; i < run; i += 2 * lanes) {
    for (size_t k = 0; k < kStreams; ++k) {
      even = hn::Add(even, next(k * run + i));
      odd = hn::Add(odd, next(k * run + i + lanes));
    }
  }
  return hn::GetLane(hn::SumOfLanes(d, hn::Add(even, odd)));
}

void stream_one(const uint8_t* from, uint8_t* to, size_t bytes) { stream_copy<1>(from, to, bytes); }
void stream_two(const uint8_t* from, uint8_t* to, size_t bytes) { stream_copy<2>(from, to, bytes); }
uint64_t read_one(const uint8_t* from, size_t bytes) { return read_all<1>(from, bytes); }
uint64_t read_two(const uint8_t* from, size_t bytes) { return read_all<2>(from, bytes); }

}  // namespace assay::ratios::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include <cstring>

#include "device/layout.h"
#include "traffic.h"

namespace assay::ratios {

HWY_EXPORT(stream_one);
HWY_EXPORT(stream_two);
HWY_EXPORT(read_one);
HWY_EXPORT(read_two);

namespace {

// Hands each thread one run of pages.
template <class Work>
void in_parallel(uint64_t bytes, int threads, const Work& work) {
  const uint64_t pages = bytes / page_size();
#pragma omp parallel for num_threads(threads) schedule(static, 1)
  for (int t = 0; t < threads; ++t) {
    const uint64_t begin = pages * t / threads * page_size(), end = pages * (t + 1) / threads * page_size();
    work(begin, end - begin);
  }
}

template <class Copy>
void copy_halves(std::byte* memory, uint64_t bytes, int threads, const Copy& copy) {
  const uint64_t half = bytes / 2 / page_size() * page_size();
  const auto* from = reinterpret_cast<const uint8_t*>(memory);
  auto* to = reinterpret_cast<uint8_t*>(memory) + half;
  in_parallel(half, threads, [&](uint64_t begin, uint64_t size) { copy(from + begin, to + begin, size); });
}

template <class Read>
void read_parts(std::byte* memory, uint64_t bytes, int threads, const Read& read) {
  in_parallel(bytes, threads, [&](uint64_t begin, uint64_t size) {
    const volatile uint64_t sum = read(reinterpret_cast<const uint8_t*>(memory) + begin, size);
    (void)sum;
  });
}

void copy_libc(std::byte* memory, uint64_t bytes, int threads) {
  copy_halves(memory, bytes, threads,
              [](const uint8_t* from, uint8_t* to, size_t size) { std::memcpy(to, from, size); });
}
void copy_stream(std::byte* memory, uint64_t bytes, int threads) {
  copy_halves(memory, bytes, threads, HWY_DYNAMIC_DISPATCH(stream_one));
}
void copy_two_streams(std::byte* memory, uint64_t bytes, int threads) {
  copy_halves(memory, bytes, threads, HWY_DYNAMIC_DISPATCH(stream_two));
}
void read_stream(std::byte* memory, uint64_t bytes, int threads) {
  read_parts(memory, bytes, threads, HWY_DYNAMIC_DISPATCH(read_one));
}
void read_two_streams(std::byte* memory, uint64_t bytes, int threads) {
  read_parts(memory, bytes, threads, HWY_DYNAMIC_DISPATCH(read_two));
}

}  // namespace

const std::vector<Traffic>& copies() {
  static const std::vector<Traffic> all{
      {"memcpy", copy_libc}, {"streaming stores", copy_stream}, {"streaming stores, two runs", copy_two_streams}};
  return all;
}

const std::vector<Traffic>& reads() {
  static const std::vector<Traffic> all{{"one run", read_stream}, {"two runs", read_two_streams}};
  return all;
}

}  // namespace assay::ratios

#endif
