#include "check/device_bytes.h"
#include "check/number.h"
#include "core/cuda.cuh"
#include "core/device_memory.h"
#include "core/strided.h"

namespace assay {
namespace {

constexpr unsigned long long kNone = ~0ull;

struct Found {
  unsigned long long count = 0, first = kNone;
};

// Where `found` is a thread's own: adds it to the launch's.
__device__ void add_to(Found* all, const Found& found) {
  if (found.count == 0) return;
  atomicAdd(&all->count, found.count);
  atomicMin(&all->first, found.first);
}

__device__ void note(Found& found, int64_t i) {  // i ascends within a thread
  if (found.count++ == 0) found.first = static_cast<unsigned long long>(i);
}

template <class Bits>
__global__ void compare(Strided where, const Bits* a, const Bits* b, int64_t first, Found* all) {
  Found found;
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = first + int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < where.elements; i += step) {
    const int64_t at = where.offset(i);
    if (a[at] != b[at]) note(found, i);
  }
  add_to(all, found);
}

// The same over packed tensors that begin at multiples of 16 bytes: the first `words` of 16.
template <class Bits>
__global__ void compare_words(const uint4* a, const uint4* b, int64_t words, Found* all) {
  constexpr int kEach = 16 / sizeof(Bits), kAhead = 4;
  Found found;
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  int64_t w = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  const auto look = [&](const uint4& x, const uint4& y, int64_t word) {
    if (x.x == y.x && x.y == y.y && x.z == y.z && x.w == y.w) return;
    for (int k = 0; k < kEach; ++k) {
      if (reinterpret_cast<const Bits*>(&x)[k] != reinterpret_cast<const Bits*>(&y)[k]) note(found, word * kEach + k);
    }
  };
  for (; w + (kAhead - 1) * step < words; w += kAhead * step) {
    uint4 x[kAhead], y[kAhead];
#pragma unroll
    for (int j = 0; j < kAhead; ++j) {
      x[j] = a[w + j * step];
      y[j] = b[w + j * step];
    }
#pragma unroll
    for (int j = 0; j < kAhead; ++j) look(x[j], y[j], w + j * step);
  }
  for (; w < words; w += step) look(a[w], b[w], w);
  add_to(all, found);
}

// Whether both can be read 16 bytes at a time.
bool allows_words(const Strided& where, const void* a, const void* b) {
  return where.is_packed && reinterpret_cast<uintptr_t>(a) % 16 == 0 && reinterpret_cast<uintptr_t>(b) % 16 == 0;
}

template <class Bits>
void compare_all(const Strided& where, const void* a, const void* b, Found* all, cudaStream_t stream) {
  constexpr int64_t kEach = 16 / sizeof(Bits);
  const int64_t words = allows_words(where, a, b) ? where.elements / kEach : 0;
  if (words > 0) {
    compare_words<Bits><<<blocks_for(words), kThreads, 0, stream>>>(static_cast<const uint4*>(a),
                                                                    static_cast<const uint4*>(b), words, all);
    require_launched("compare bytes");
  }
  if (words * kEach < where.elements) {
    compare<<<blocks_for(where.elements - words * kEach), kThreads, 0, stream>>>(
        where, static_cast<const Bits*>(a), static_cast<const Bits*>(b), words * kEach, all);
    require_launched("compare bytes");
  }
}

struct Patterns {
  uint64_t first, second;  // of an element
  bool single_bytes;
};

template <DType T>
__global__ void find_untouched(Strided where, const BitsOf<size_of(T)>* after_first,
                               const BitsOf<size_of(T)>* after_second, Patterns patterns, int64_t first, Found* all) {
  Found found;
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = first + int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < where.elements; i += step) {
    const int64_t at = where.offset(i);
    const Untouched u =
        untouched<T>(patterns.first, patterns.second, after_first[at], after_second[at], patterns.single_bytes);
    if (u.is_unwritten) note(found, i);
  }
  add_to(all, found);
}

// The same over packed tensors that begin at multiples of 16 bytes: the first `words` of 16. A word each of whose bytes
// changed in one of the runs holds no untouched element.
template <DType T>
__global__ void find_untouched_words(const ulonglong2* after_first, const ulonglong2* after_second, int64_t words,
                                     Patterns patterns, Found* all) {
  using Bits = BitsOf<size_of(T)>;
  constexpr int kEach = 8 / sizeof(Bits), kAhead = 4;
  uint64_t first = 0, second = 0;  // of 8 bytes
  for (int k = 0; k < kEach; ++k) {
    first |= patterns.first << (64 / kEach * k);
    second |= patterns.second << (64 / kEach * k);
  }
  Found found;
  const auto look = [&](uint64_t a, uint64_t b, int64_t i) {
    if (!detail::has_zero_byte((a ^ first) | (b ^ second), 8)) return;
    for (int k = 0; k < kEach; ++k) {
      const Untouched u = untouched<T>(patterns.first, patterns.second, static_cast<Bits>(a >> (64 / kEach * k)),
                                       static_cast<Bits>(b >> (64 / kEach * k)), patterns.single_bytes);
      if (u.is_unwritten) note(found, i + k);
    }
  };
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t w = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; w < words; w += kAhead * step) {
    ulonglong2 a[kAhead], b[kAhead];
#pragma unroll
    for (int j = 0; j < kAhead; ++j) {
      if (w + j * step >= words) continue;
      a[j] = after_first[w + j * step];
      b[j] = after_second[w + j * step];
    }
#pragma unroll
    for (int j = 0; j < kAhead; ++j) {
      const int64_t word = w + j * step;
      if (word >= words) continue;
      look(a[j].x, b[j].x, word * 2 * kEach);
      look(a[j].y, b[j].y, (word * 2 + 1) * kEach);
    }
  }
  add_to(all, found);
}

template <DType T>
void find_all_untouched(const Strided& where, const void* after_first, const void* after_second,
                        const Patterns& patterns, Found* all, cudaStream_t stream) {
  using Bits = BitsOf<size_of(T)>;
  constexpr int64_t kEach = 16 / sizeof(Bits);
  const int64_t words = allows_words(where, after_first, after_second) ? where.elements / kEach : 0;
  if (words > 0) {
    find_untouched_words<T><<<blocks_for(words), kThreads, 0, stream>>>(static_cast<const ulonglong2*>(after_first),
                                                                        static_cast<const ulonglong2*>(after_second),
                                                                        words, patterns, all);
    require_launched("unwritten");
  }
  if (words * kEach < where.elements) {
    find_untouched<T><<<blocks_for(where.elements - words * kEach), kThreads, 0, stream>>>(
        where, static_cast<const Bits*>(after_first), static_cast<const Bits*>(after_second), patterns, words * kEach,
        all);
    require_launched("unwritten");
  }
}

// Bytes before the first whole word, words of 8 bytes, bytes after.
__global__ void poison(unsigned char* begin, int64_t bytes, int64_t head, uint64_t period) {
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  const int64_t thread = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  const auto byte_at = [period](int64_t i) { return static_cast<unsigned char>(period >> (8 * (i % 8))); };
  const int64_t words = (bytes - head) / 8, tail = head + 8 * words;
  const uint64_t turned = head == 0 ? period : period >> (8 * head) | period << (64 - 8 * head);
  for (int64_t w = thread; w < words; w += step) reinterpret_cast<uint64_t*>(begin + head)[w] = turned;
  if (thread < head) begin[thread] = byte_at(thread);
  if (thread < bytes - tail) begin[tail + thread] = byte_at(tail + thread);
}

uint64_t element_bits(const TensorSpec& spec, const void* data, int64_t i, void* stream) {
  const size_t size = size_of(spec.dtype);
  uint64_t bits = 0;
  copy_to_host(&bits, static_cast<const std::byte*>(data) + offset_of(spec, i) * static_cast<int64_t>(size), size,
               stream);
  return bits;
}

// Runs `launch` on a fresh Found and returns what it found.
template <class Launch>
Found counted(const Launch& launch, void* stream) {
  const DeviceMemory memory(sizeof(Found));
  Found found;
  copy_to_device(memory.data(), &found, sizeof found, stream);
  launch(reinterpret_cast<Found*>(memory.data()));
  copy_to_host(&found, memory.data(), sizeof found, stream);
  return found;
}

}  // namespace

ByteDifference compare_bytes_on_device(const TensorSpec& spec, const void* a, const void* b, void* stream) {
  const Strided where = strided(spec);
  if (where.elements == 0) return {};
  const Found found = counted(
      [&](Found* all) {
        with_dtype(spec.dtype, [&](auto type) {
          compare_all<BitsOf<size_of(decltype(type)::value)>>(where, a, b, all, stream_of(stream));
        });
      },
      stream);
  if (found.count == 0) return {};
  const auto first = static_cast<int64_t>(found.first);
  return {static_cast<int64_t>(found.count), first, element_bits(spec, a, first, stream),
          element_bits(spec, b, first, stream)};
}

Unwritten find_unwritten_on_device(const TensorSpec& spec, const void* after_first, const void* after_second,
                                   bool single_bytes, void* stream) {
  const Strided where = strided(spec);
  if (where.elements == 0) return {};
  Unwritten unwritten;
  with_dtype(spec.dtype, [&](auto type) {
    constexpr DType T = decltype(type)::value;
    const uint64_t first = poison_bits(T, Poison::first), second = poison_bits(T, Poison::second);
    const Found found = counted(
        [&](Found* all) {
          find_all_untouched<T>(where, after_first, after_second, {first, second, single_bytes}, all,
                                stream_of(stream));
        },
        stream);
    if (found.count == 0) return;
    unwritten.count = static_cast<int64_t>(found.count);
    unwritten.first = static_cast<int64_t>(found.first);
    unwritten.whole = untouched<T>(first, second, element_bits(spec, after_first, unwritten.first, stream),
                                   element_bits(spec, after_second, unwritten.first, stream), single_bytes)
                          .whole;
  });
  return unwritten;
}

void fill_poison_on_device(void* begin, size_t bytes, size_t element_at, DType t, Poison pattern, void* stream) {
  if (bytes == 0) return;
  std::byte period[8];
  fill_poison(period, sizeof period, element_at % 8, t, pattern);
  uint64_t word;
  std::memcpy(&word, period, sizeof word);
  const auto n = static_cast<int64_t>(bytes);
  const int64_t head = std::min(n, static_cast<int64_t>(-reinterpret_cast<uintptr_t>(begin) % 8));
  poison<<<blocks_for(n / 8 + 8), kThreads, 0, stream_of(stream)>>>(static_cast<unsigned char*>(begin), n, head, word);
  require_launched("poison");
}

}  // namespace assay
