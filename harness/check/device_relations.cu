#include <vector>

#include "check/device_bytes.h"
#include "check/device_hash.cuh"
#include "check/device_relations.h"
#include "check/hash.h"
#include "core/cuda.cuh"
#include "core/device_memory.h"
#include "core/strided.h"

namespace assay {
namespace {

constexpr unsigned long long kNone = ~0ull;

// load_bits() and store_bits() by one access.
__device__ uint64_t bits_at(DType t, const void* data, int64_t at) {
  switch (size_of(t)) {
    case 8:
      return static_cast<const uint64_t*>(data)[at];
    case 4:
      return static_cast<const uint32_t*>(data)[at];
    case 2:
      return static_cast<const uint16_t*>(data)[at];
    default:
      return static_cast<const uint8_t*>(data)[at];
  }
}
__device__ void put_bits(DType t, void* data, int64_t at, uint64_t bits) {
  switch (size_of(t)) {
    case 8:
      static_cast<uint64_t*>(data)[at] = bits;
      return;
    case 4:
      static_cast<uint32_t*>(data)[at] = static_cast<uint32_t>(bits);
      return;
    case 2:
      static_cast<uint16_t*>(data)[at] = static_cast<uint16_t>(bits);
      return;
    default:
      static_cast<uint8_t*>(data)[at] = static_cast<uint8_t>(bits);
  }
}

struct Found {
  unsigned long long count = 0, first = kNone;
};

// look(i, looked_at) says of each element whether it is to be found; the rest is counting.
template <class Look>
__global__ void find(int64_t elements, Look look, Found* all, unsigned long long* all_looked_at) {
  Found found;
  unsigned long long looked_at = 0;
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < elements; i += step) {
    if (look(i, looked_at) && found.count++ == 0) found.first = static_cast<unsigned long long>(i);  // i ascends
  }
  if (looked_at > 0) atomicAdd(all_looked_at, looked_at);
  if (found.count == 0) return;
  atomicAdd(&all->count, found.count);
  atomicMin(&all->first, found.first);
}

template <class Look>
Scaling found_by(int64_t elements, const Look& look) {
  if (elements == 0) return {};
  struct {
    Found found;
    unsigned long long looked_at = 0;
  } result;
  const DeviceMemory memory(sizeof result);
  copy_to_device(memory.data(), &result, sizeof result);
  auto* on_device = reinterpret_cast<decltype(result)*>(memory.data());
  find<<<blocks_for(elements), kThreads>>>(elements, look, &on_device->found, &on_device->looked_at);
  require_launched("relations");
  copy_to_host(&result, memory.data(), sizeof result);
  return {result.found.count == 0 ? kNowhere : static_cast<int64_t>(result.found.first),
          static_cast<int64_t>(result.looked_at)};
}

struct ChangedOutside {
  Slice slice;
  Strided where;
  DType dtype;
  const void *before, *after;
  __device__ bool operator()(int64_t i, unsigned long long&) const {
    if (slice.holds(i)) return false;
    const int64_t at = where.offset(i);
    return bits_at(dtype, before, at) != bits_at(dtype, after, at);
  }
};

struct NumberIn {
  Slice slice;
  Strided where;
  DType dtype;
  const void* data;
  __device__ bool operator()(int64_t i, unsigned long long&) const {
    const double value = decode(dtype, bits_at(dtype, data, where.offset(i)));
    return slice.holds(i) && value == value;
  }
};

struct ChangedInPart {
  Strided in_whole, in_part;
  DType dtype;
  const void *whole, *part;
  __device__ bool operator()(int64_t i, unsigned long long&) const {
    return bits_at(dtype, whole, in_whole.offset(i)) != bits_at(dtype, part, in_part.offset(i));
  }
};

struct BrokenScaling {
  Strided where;
  DType dtype;
  int power;
  const void *before, *after;
  __device__ bool operator()(int64_t i, unsigned long long& looked_at) const {
    const int64_t at = where.offset(i);
    const double old = decode(dtype, bits_at(dtype, before, at)), scaled = decode(dtype, bits_at(dtype, after, at));
    if (!detail::scales_exactly(dtype, old, power)) return false;
    ++looked_at;
    return !(scaled == std::ldexp(old, power));
  }
};

struct HasValue {
  Strided where;
  DType dtype;
  uint64_t bits;
  const void* data;
  __device__ bool operator()(int64_t i, unsigned long long& looked_at) const {
    if (value_bits(dtype, bits_at(dtype, data, where.offset(i))) == bits) ++looked_at;
    return false;
  }
};

// change(i) of every element.
template <class Change>
__global__ void each(int64_t elements, Change change) {
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < elements; i += step) change(i);
}

template <class Change>
void for_each_element(int64_t elements, const Change& change) {
  if (elements == 0) return;
  each<<<blocks_for(elements), kThreads>>>(elements, change);
  require_launched("relations");
  wait_for_device();
}

struct Reverse {
  Slice along;
  Strided where;
  DType dtype;
  void* data;
  __device__ void operator()(int64_t i) const {
    const int64_t other = detail::mirrored(along, i);
    if (other <= i) return;  // whose thread swaps both
    const int64_t at = where.offset(i), there = where.offset(other);
    const uint64_t bits = bits_at(dtype, data, at);
    put_bits(dtype, data, at, bits_at(dtype, data, there));
    put_bits(dtype, data, there, bits);
  }
};

struct SetZero {
  Strided where;
  DType dtype;
  void* data;
  __device__ void operator()(int64_t i) const { put_bits(dtype, data, where.offset(i), 0); }
};

struct Put {
  Strided from_where, to_where;
  DType dtype;
  const void* from;
  void* to;
  __device__ void operator()(int64_t i) const {
    put_bits(dtype, to, to_where.offset(i), bits_at(dtype, from, from_where.offset(i)));
  }
};

struct SetNan {
  Slice slice;
  Strided where;
  DType dtype;
  void* data;
  __device__ void operator()(int64_t i) const {
    if (slice.holds(i)) put_bits(dtype, data, where.offset(i), detail::nan_bits(dtype));
  }
};

struct Scale {
  Strided where;
  DType dtype;
  int power;
  void* data;
  __device__ void operator()(int64_t i) const {
    const int64_t at = where.offset(i);
    put_bits(dtype, data, at, detail::scaled_bits(dtype, bits_at(dtype, data, at), power));
  }
};

// Element first + i from one place to another: where it lies in the tensor, or packed.
struct Copy {
  Strided where;
  DType dtype;
  int64_t first;
  bool is_packed;
  const void* from;
  void* to;
  __device__ void operator()(int64_t i) const {
    const int64_t at = where.offset(first + i);
    put_bits(dtype, to, is_packed ? i : at, bits_at(dtype, from, at));
  }
};

// How many elements have each bit set. Where one value has a majority, so has each of its bits.
__global__ void count_bits(Strided where, DType dtype, const void* data, unsigned long long* counts) {
  const int bits = 8 * static_cast<int>(size_of(dtype)), lane = threadIdx.x % 32;
  unsigned long long mine[2] = {0, 0};  // of bits `lane` and `lane` + 32
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  const int64_t warp_begin = int64_t{blockIdx.x} * blockDim.x + threadIdx.x - lane;
  for (int64_t base = warp_begin; base < where.elements; base += step) {  // the same for a whole warp
    const int64_t i = base + lane;
    const uint64_t value = i < where.elements ? value_bits(dtype, bits_at(dtype, data, where.offset(i))) : 0;
    for (int bit = 0; bit < bits; ++bit) {
      const unsigned votes = __popc(__ballot_sync(~0u, static_cast<int>(value >> bit & 1)));
      if (bit % 32 == lane) mine[bit / 32] += votes;
    }
  }
  for (int half = 0; half < 2; ++half) {
    if (mine[half] > 0) atomicAdd(&counts[32 * half + lane], mine[half]);
  }
}

}  // namespace

int64_t changed_outside_on_device(const Slice& slice, const TensorSpec& spec, const void* before, const void* after) {
  return found_by(spec.elements(), ChangedOutside{slice, strided(spec), spec.dtype, before, after}).broken;
}

int64_t number_in_on_device(const Slice& slice, const TensorSpec& spec, const void* data) {
  return found_by(spec.elements(), NumberIn{slice, strided(spec), spec.dtype, data}).broken;
}

int64_t changed_in_leading_part_on_device(const TensorSpec& whole_spec, const void* whole, const TensorSpec& part_spec,
                                          const void* part) {
  const ChangedInPart look{strided(whole_spec), strided(part_spec), whole_spec.dtype, whole, part};
  return found_by(part_spec.elements(), look).broken;
}

Scaling scaling_on_device(const TensorSpec& spec, int power, const void* before, const void* after) {
  return found_by(spec.elements(), BrokenScaling{strided(spec), spec.dtype, power, before, after});
}

void reverse_on_device(const TensorSpec& spec, int axis, void* data) {
  for_each_element(spec.elements(), Reverse{slice_of(spec, axis, 0), strided(spec), spec.dtype, data});
}

void put_among_zeros_on_device(const TensorSpec& spec, const void* data, const TensorSpec& larger_spec, void* larger) {
  for_each_element(larger_spec.elements(), SetZero{strided(larger_spec), larger_spec.dtype, larger});
  const Strided first = strided(detail::first_of(spec, larger_spec));
  for_each_element(spec.elements(), Put{strided(spec), first, spec.dtype, data, larger});
}

void set_nan_on_device(const Slice& slice, const TensorSpec& spec, void* data) {
  for_each_element(spec.elements(), SetNan{slice, strided(spec), spec.dtype, data});
}

void scale_on_device(const TensorSpec& spec, int power, void* data) {
  for_each_element(spec.elements(), Scale{strided(spec), spec.dtype, power, data});
}

Majority majority_on_device(const TensorSpec& spec, const void* data) {
  const Strided where = strided(spec);
  if (where.elements == 0) return {};
  unsigned long long counts[64] = {};
  const DeviceMemory memory(sizeof counts);
  copy_to_device(memory.data(), counts, sizeof counts);
  count_bits<<<blocks_for(where.elements), kThreads>>>(where, spec.dtype, data,
                                                       reinterpret_cast<unsigned long long*>(memory.data()));
  require_launched("majority");
  copy_to_host(counts, memory.data(), sizeof counts);
  Majority vote;
  for (int bit = 0; bit < 64; ++bit) {
    if (2 * static_cast<int64_t>(counts[bit]) > where.elements) vote.bits |= uint64_t{1} << bit;
  }
  vote.count = found_by(where.elements, HasValue{where, spec.dtype, vote.bits, data}).looked_at;
  return 2 * vote.count > where.elements ? vote : Majority{};
}

GuardReport check_padding_on_device(const TensorSpec& spec, const void* data, Poison poison) {
  const int64_t bytes = spec.span_elements() * static_cast<int64_t>(size_of(spec.dtype));
  // What it should be: the elements as they are, in the midst of poison.
  const DeviceMemory wanted(static_cast<size_t>(bytes));
  fill_poison_on_device(wanted.data(), wanted.bytes(), 0, spec.dtype, poison);
  for_each_element(spec.elements(), Copy{strided(spec), spec.dtype, 0, false, data, wanted.data()});
  const TensorSpec all{.name = spec.name, .dtype = DType::u8, .shape = {bytes}, .strides = {1}};
  const ByteDifference stray = compare_bytes_on_device(all, wanted.data(), data);
  GuardReport report{.padding = bytes - spec.elements() * static_cast<int64_t>(size_of(spec.dtype))};
  report.add(static_cast<uint64_t>(stray.count), stray.first, GuardReport::Where::padding);
  return report;
}

uint64_t hash_elements_on_device(const TensorSpec& spec, const void* data, uint64_t seed) {
  constexpr int64_t kPiece = int64_t{64} << 20;  // bytes
  const auto size = static_cast<int64_t>(size_of(spec.dtype));
  const int64_t elements = spec.elements(), at_once = std::min(kPiece / size, elements);
  const Strided where = strided(spec);
  const DeviceMemory packed(where.is_packed ? 0 : static_cast<size_t>(at_once * size));
  std::vector<std::byte> piece(static_cast<size_t>(at_once * size));
  Hasher hasher(seed);
  for (int64_t first = 0; first < elements; first += at_once) {
    const int64_t count = std::min(at_once, elements - first);
    if (!where.is_packed) {
      for_each_element(count, Copy{where, spec.dtype, first, true, data, packed.data()});
    }
    const void* from = where.is_packed ? static_cast<const std::byte*>(data) + first * size : packed.data();
    copy_to_host(piece.data(), from, static_cast<size_t>(count * size));
    hasher.add(piece.data(), static_cast<size_t>(count * size));
  }
  return hasher.digest();
}

namespace {

// A chunk a block.
__global__ void __launch_bounds__(kThreads) digest_chunks(const std::byte* data, int64_t bytes, uint64_t* digests) {
  __shared__ uint4 chunk[kHashChunk / sizeof(uint4)];
  const std::byte* const from = data + int64_t{blockIdx.x} * kHashChunk;
  const int64_t left = bytes - int64_t{blockIdx.x} * kHashChunk, count = left < kHashChunk ? left : kHashChunk;
  const int64_t wide = reinterpret_cast<uintptr_t>(data) % sizeof(uint4) == 0 ? count / sizeof(uint4) : 0;
  for (int64_t i = threadIdx.x; i < wide; i += kThreads) chunk[i] = reinterpret_cast<const uint4*>(from)[i];
  for (int64_t i = wide * sizeof(uint4) + threadIdx.x; i < count; i += kThreads) {
    reinterpret_cast<std::byte*>(chunk)[i] = from[i];
  }
  __syncthreads();
  if (threadIdx.x >= 32) return;
  const uint64_t digest = digest_of_shared(reinterpret_cast<const uint64_t*>(chunk), count, 0);
  if (threadIdx.x == 0) digests[blockIdx.x] = digest;
}

}  // namespace

uint64_t hash_elements_by_chunks_on_device(const TensorSpec& spec, const void* data, uint64_t seed) {
  const int64_t bytes = spec.elements() * static_cast<int64_t>(size_of(spec.dtype)), chunks = hash_chunks(bytes);
  const Strided where = strided(spec);
  const DeviceMemory packed(where.is_packed ? 0 : static_cast<size_t>(bytes));
  if (!where.is_packed) for_each_element(spec.elements(), Copy{where, spec.dtype, 0, true, data, packed.data()});
  std::vector<uint64_t> digests(static_cast<size_t>(chunks));
  const DeviceMemory on_device(digests.size() * sizeof digests[0]);
  if (chunks > 0) {
    const auto* from = where.is_packed ? static_cast<const std::byte*>(data) : packed.data();
    digest_chunks<<<static_cast<unsigned>(chunks), kThreads>>>(from, bytes,
                                                               reinterpret_cast<uint64_t*>(on_device.data()));
    require_launched("hash");
    copy_to_host(digests.data(), on_device.data(), on_device.bytes());
  }
  return hash_of_chunks(digests, seed);
}

}  // namespace assay
