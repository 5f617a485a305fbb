// 16 bytes of a row: the unit in which threads share a row out, read it and write it. Which elements a thread holds
// follows from the row's length alone. Whether a row allows accesses of 16 bytes decides how they are moved, never
// which thread has them, so that sums come out the same for every address and leading dimension.
#pragma once

#include <assay/kernel.h>

#include <cstdint>
#include <limits>
#include <type_traits>

namespace assay::simt {

// What a type is computed in.
template <class T>
struct Computing {
  using type = float;
};
template <>
struct Computing<double> {
  using type = double;
};
template <class T>
using ComputeOf = typename Computing<T>::type;

template <class C>
inline constexpr C kInfinity = std::numeric_limits<C>::infinity();

template <class T>
inline constexpr int kPerChunk = 16 / static_cast<int>(sizeof(T));

// The bits, in whole words: unpacking elements one by one would cost more than computing with them.
template <class T>
struct Chunk {
  uint32_t word[4];
};

__device__ inline double widen(double x) { return x; }
__device__ inline float widen(float x) { return x; }
__device__ inline float widen(__half x) { return __half2float(x); }
__device__ inline float widen(__nv_bfloat16 x) { return __bfloat162float(x); }

template <class T>
__device__ T narrow(ComputeOf<T> x) {
  if constexpr (std::is_same_v<T, __half>) {
    return __float2half_rn(x);
  } else if constexpr (std::is_same_v<T, __nv_bfloat16>) {
    return __float2bfloat16_rn(x);
  } else {
    return x;
  }
}

template <class T>
__device__ void widen_all(const Chunk<T>& chunk, ComputeOf<T> (&values)[kPerChunk<T>]) {
#pragma unroll
  for (int w = 0; w < 4; ++w) {
    const uint32_t bits = chunk.word[w];
    if constexpr (std::is_same_v<T, float>) {
      values[w] = __uint_as_float(bits);
    } else if constexpr (std::is_same_v<T, __nv_bfloat16>) {
      values[2 * w] = __uint_as_float(bits << 16);
      values[2 * w + 1] = __uint_as_float(bits & 0xffff0000u);
    } else if constexpr (std::is_same_v<T, __half>) {
      values[2 * w] = __half2float(__ushort_as_half(static_cast<unsigned short>(bits)));
      values[2 * w + 1] = __half2float(__ushort_as_half(static_cast<unsigned short>(bits >> 16)));
    } else if (w % 2 == 0) {
      values[w / 2] = __hiloint2double(static_cast<int>(chunk.word[w + 1]), static_cast<int>(bits));
    }
  }
}

template <class T>
__device__ Chunk<T> narrow_all(const ComputeOf<T> (&values)[kPerChunk<T>]) {
  Chunk<T> chunk;
#pragma unroll
  for (int w = 0; w < 4; ++w) {
    if constexpr (std::is_same_v<T, float>) {
      chunk.word[w] = __float_as_uint(values[w]);
    } else if constexpr (std::is_same_v<T, __nv_bfloat16>) {
      const __nv_bfloat162 pair = __floats2bfloat162_rn(values[2 * w], values[2 * w + 1]);
      memcpy(&chunk.word[w], &pair, sizeof pair);
    } else if constexpr (std::is_same_v<T, __half>) {
      const __half2 pair = __floats2half2_rn(values[2 * w], values[2 * w + 1]);
      memcpy(&chunk.word[w], &pair, sizeof pair);
    } else {
      const double value = values[w / 2];
      chunk.word[w] = static_cast<uint32_t>(w % 2 == 0 ? __double2loint(value) : __double2hiint(value));
    }
  }
  return chunk;
}

// Elements one by one, for the ends of rows and for rows that allow nothing wider.
template <class T, class LoadElement>
__device__ Chunk<T> chunk_of_elements(const LoadElement& load) {  // load(e) gives the bits of element e, zero beyond
  Chunk<T> chunk;
#pragma unroll
  for (int w = 0; w < 4; ++w) {
    if constexpr (sizeof(T) == 2) {
      chunk.word[w] = load(2 * w) | static_cast<uint32_t>(load(2 * w + 1)) << 16;
    } else if constexpr (sizeof(T) == 4) {
      chunk.word[w] = load(w);
    } else if (w % 2 == 0) {
      const uint64_t bits = load(w / 2);
      chunk.word[w] = static_cast<uint32_t>(bits);
      chunk.word[w + 1] = static_cast<uint32_t>(bits >> 32);
    }
  }
  return chunk;
}

template <class T>
using BitsOf = std::conditional_t<sizeof(T) == 2, uint16_t, std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>>;

template <class T>
__device__ BitsOf<T> element_bits(const Chunk<T>& chunk, int e) {  // e is known to the compiler
  if constexpr (sizeof(T) == 2) return static_cast<uint16_t>(chunk.word[e / 2] >> (e % 2 * 16));
  if constexpr (sizeof(T) == 4) return chunk.word[e];
  if constexpr (sizeof(T) == 8) return chunk.word[2 * e] | static_cast<uint64_t>(chunk.word[2 * e + 1]) << 32;
}

__host__ __device__ inline bool is_aligned(const void* address) {
  return reinterpret_cast<uintptr_t>(address) % 16 == 0;
}

// Data that is read once leaves the level-1 cache to what is read again. Volatile, or the compiler takes it for a
// function of its argument and calls it early, before the condition that guards it.
template <class T>
__device__ Chunk<T> load_streaming(const T* address) {
  Chunk<T> chunk;
  asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(chunk.word[0]), "=r"(chunk.word[1]), "=r"(chunk.word[2]), "=r"(chunk.word[3])
               : "l"(address));
  return chunk;
}
template <class T>
__device__ Chunk<T> load_cached(const T* address) {
  const uint4 bits = *reinterpret_cast<const uint4*>(address);
  return {{bits.x, bits.y, bits.z, bits.w}};
}
template <class T>
__device__ void store_streaming(T* address, const Chunk<T>& chunk) {
  __stcs(reinterpret_cast<uint4*>(address), make_uint4(chunk.word[0], chunk.word[1], chunk.word[2], chunk.word[3]));
}

// How a row may be accessed. whole: 16 bytes at a time, from the first to the last. any: as it lies.
enum class Access { whole, any };

// One row, read.
template <class T, Access kAccess>
struct RowReader {
  const T* data;
  int64_t cols;
  bool aligned;
  __device__ RowReader(const T* row, int64_t length)
      : data(row), cols(length), aligned(kAccess == Access::whole || is_aligned(row)) {}

  // The chunks first, first + step, ..., elements beyond the row zero. `stage` as for RowWriter.
  template <int kCount, class Index>
  __device__ void load(Index first, Index step, Chunk<T> (&chunks)[kCount], std::byte* stage) const {
    const Index whole = aligned ? static_cast<Index>(cols / kPerChunk<T>) : 0;
#pragma unroll
    for (int k = 0; k < kCount; ++k) {
      const Index chunk = first + k * step;
      if (chunk < whole) {
        chunks[k] = load_streaming(data + static_cast<int64_t>(chunk) * kPerChunk<T>);
      } else if constexpr (kAccess == Access::whole) {
        chunks[k] = {};
      } else if (!aligned && stage != nullptr) {
        const int lane = threadIdx.x % 32;
        chunks[k] = elements(static_cast<int64_t>(chunk - lane) * kPerChunk<T> + lane, 32);
      } else {
        chunks[k] = elements(static_cast<int64_t>(chunk) * kPerChunk<T>, 1);
      }
    }
    if constexpr (kAccess == Access::any) settle(chunks, stage);
  }
  // The same for what every row reads.
  template <class Index>
  __device__ Chunk<T> load_shared(Index chunk) const {
    const int64_t begin = static_cast<int64_t>(chunk) * kPerChunk<T>;
    if (aligned && begin + kPerChunk<T> <= cols) return load_cached(data + begin);
    if constexpr (kAccess == Access::whole) return {};
    return elements(begin, 1);
  }

 private:
  __device__ Chunk<T> elements(int64_t first, int step) const {
    const auto* bits = reinterpret_cast<const BitsOf<T>*>(data);
    return chunk_of_elements<T>([&](int e) { return first + e * step < cols ? bits[first + e * step] : BitsOf<T>(0); });
  }
  // Gives each lane its own chunk where neighbouring lanes have read neighbouring elements.
  template <int kCount>
  __device__ void settle(Chunk<T> (&chunks)[kCount], std::byte* stage) const {
    if (aligned || stage == nullptr) return;
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int k = 0; k < kCount; ++k) {
#pragma unroll
      for (int e = 0; e < kPerChunk<T>; ++e) {
        reinterpret_cast<BitsOf<T>*>(stage)[e * 32 + lane] = element_bits(chunks[k], e);
      }
      __syncwarp();
      chunks[k] = load_cached(reinterpret_cast<const T*>(stage) + lane * kPerChunk<T>);
      __syncwarp();
    }
  }
};

// One row, written. `stage` is 512 bytes of shared memory a warp, through which neighbouring lanes come to access
// neighbouring elements of a row that allows no 16-byte accesses. Null where a warp's lanes do not hold neighbouring
// chunks of one row; otherwise whole warps call it.
template <class T, Access kAccess>
struct RowWriter {
  T* data;
  int64_t cols;
  bool aligned;
  std::byte* stage;
  __device__ RowWriter(T* row, int64_t length, std::byte* warp_stage)
      : data(row), cols(length), aligned(kAccess == Access::whole || is_aligned(row)), stage(warp_stage) {}

  template <class Index>
  __device__ void store(Index chunk, const Chunk<T>& values) const {
    const int64_t begin = static_cast<int64_t>(chunk) * kPerChunk<T>;
    if (aligned && begin + kPerChunk<T> <= cols) {
      store_streaming(data + begin, values);
    } else if constexpr (kAccess == Access::any) {
      if (aligned || stage == nullptr) {
#pragma unroll
        for (int e = 0; e < kPerChunk<T>; ++e) {
          if (begin + e < cols) reinterpret_cast<BitsOf<T>*>(data)[begin + e] = element_bits(values, e);
        }
      } else {
        store_staged(begin, values);
      }
    }
  }

 private:
  __device__ void store_staged(int64_t begin, const Chunk<T>& values) const {
    const int lane = threadIdx.x % 32;
    const int64_t warp_begin = begin - lane * kPerChunk<T>;
    reinterpret_cast<uint4*>(stage)[lane] = make_uint4(values.word[0], values.word[1], values.word[2], values.word[3]);
    __syncwarp();
#pragma unroll
    for (int e = 0; e < kPerChunk<T>; ++e) {
      const int64_t i = warp_begin + e * 32 + lane;
      if (i < cols) data[i] = reinterpret_cast<const T*>(stage)[e * 32 + lane];
    }
    __syncwarp();
  }
};

}  // namespace assay::simt
