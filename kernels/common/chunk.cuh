// 16 bytes of a row: the unit in which threads share a row out, read it and write it. Which elements a thread holds
// follows from the row's length alone. Whether its address allows wide accesses decides how they are moved, never which
// thread has them, so that sums come out the same for every address and leading dimension.
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

__host__ __device__ inline bool is_aligned(const void* address, int bytes = 16) {
  return reinterpret_cast<uintptr_t>(address) % static_cast<uintptr_t>(bytes) == 0;
}

// Read-only data. Volatile, or the compiler takes it for a function of its argument and calls it early, before the
// condition that guards it.
template <class T>
__device__ Chunk<T> load_constant(const T* address) {
  Chunk<T> chunk;
  asm volatile("ld.global.nc.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(chunk.word[0]), "=r"(chunk.word[1]), "=r"(chunk.word[2]), "=r"(chunk.word[3])
               : "l"(address));
  return chunk;
}
// The same past the level-1 cache: faster where little is written, slower where as much is (kernels/ratios).
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

// How a row is cut and accessed. Rows that are a multiple of 16 bytes long are cut into chunks of neighbours: `whole`
// where each row of each tensor is aligned, `askew` where some may not be. Others lie askew behind each other whatever
// their base, so that their chunks are gathered from narrower units, which the lanes of a warp take in turn: pairs of
// 16-bit elements where the length is even, else single elements.
enum class Access { whole, askew, pairs, elements };
template <class T, Access kAccess>
inline constexpr int kUnit = kAccess == Access::elements ? 1
                             : kAccess == Access::pairs  ? 2
                                                         : kPerChunk<T>;

// The part of a row that is thread `rank`'s of `size`: one chunk of every stripe of size chunks. kLanes of them, a warp
// or all where that is fewer, share out units.
template <int kLanes>
struct Share {
  int rank, size;
};
template <class T>
__device__ int64_t stripes_of(int64_t cols, int size) {
  const int64_t width = int64_t{kPerChunk<T>} * size;
  return (cols + width - 1) / width;
}

// Where a thread's chunk of one stripe lies.
template <class T, Access kAccess, int kLanes>
struct Place {
  static constexpr int kWidth = kUnit<T, kAccess>;
  int first, end;  // elements: its own first, those of the row
  __device__ Place(Share<kLanes> share, int stripe, int cols)
      : first((stripe * share.size + share.rank) * kPerChunk<T>), end(cols) {
    if constexpr (kWidth < kPerChunk<T>) first -= share.rank % kLanes * (kPerChunk<T> - kWidth);
  }
  static __device__ int after_first(int e) { return e / kWidth * kLanes * kWidth + e % kWidth; }
  __device__ int element(int e) const { return first + after_first(e); }
  __device__ bool has(int e) const { return element(e / kWidth * kWidth) < end; }  // units are all or nothing
  // Where the thread's first element is in a row, of which the others are constant distances away. The compiler is kept
  // from seeing more: it would compute the address of each anew, which takes longer than all else.
  template <class U>
  __device__ U* of_row(U* row) const {
    U* address = row + first;
    asm("" : "+l"(address));
    return address;
  }

  template <class C>
  __device__ void fill_beyond(C value, C (&values)[kPerChunk<T>]) const {
    if (has(kPerChunk<T> - 1)) return;
#pragma unroll
    for (int e = 0; e < kPerChunk<T>; ++e) {
      if (!has(e)) values[e] = value;
    }
  }
};

template <class T, Access kAccess, int kLanes>
__device__ Place<T, kAccess, kLanes> place_of(Share<kLanes> share, int stripe, int cols) {
  return {share, stripe, cols};
}

// The length of a row from element `begin` on, or as much of it as can lie before any thread. Indices are of 32 bits:
// who walks along a row reads and writes at a `begin` that is a whole number of stripes.
__device__ inline int length_from(int64_t begin, int64_t cols) {
  return static_cast<int>(min(cols - begin, int64_t{1} << 30));
}

// One row, read.
template <class T, Access kAccess>
struct RowReader {
  const T* data;
  int cols;
  __device__ RowReader(const T* row, int length) : data(row), cols(length) {}

  // The chunks of the stripes first, first + 1, ..., elements beyond the row zero. `stage` as for RowWriter.
  template <int kLanes, int kCount>
  __device__ void load(Share<kLanes> share, int first, Chunk<T> (&chunks)[kCount], std::byte* stage) const {
#pragma unroll
    for (int k = 0; k < kCount; ++k) {
      const auto place = place_of<T, kAccess>(share, first + k, cols);
      if constexpr (kAccess == Access::whole) {
        chunks[k] = place.has(0) ? load_constant(data + place.first) : Chunk<T>{};
      } else if constexpr (kAccess == Access::askew) {
        chunks[k] = stage == nullptr ? units(place) : staged(place, stage);
      } else {
        chunks[k] = units(place);
      }
    }
  }
  // The same for what every row reads.
  template <int kLanes>
  __device__ Chunk<T> load_shared(Share<kLanes> share, int stripe) const {
    const auto place = place_of<T, kAccess>(share, stripe, cols);
    if constexpr (kAccess == Access::whole) {
      return place.has(0) ? load_cached(data + place.first) : Chunk<T>{};
    } else {
      return units(place);
    }
  }

 private:
  template <int kLanes>
  __device__ Chunk<T> units(const Place<T, kAccess, kLanes>& place) const {
    const BitsOf<T>* const mine = place.of_row(reinterpret_cast<const BitsOf<T>*>(data));
    if constexpr (kAccess == Access::pairs) {
      if (is_aligned(data, 4)) {
        Chunk<T> chunk;
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const auto* address = reinterpret_cast<const uint32_t*>(mine + place.after_first(2 * i));
          chunk.word[i] = place.has(2 * i) ? __ldg(address) : 0;
        }
        return chunk;
      }
    }
    return chunk_of_elements<T>(
        [&](int e) { return place.has(e) ? __ldg(mine + place.after_first(e)) : BitsOf<T>(0); });
  }

  // Neighbouring lanes read neighbouring elements, and then give each its own chunk.
  template <int kLanes>
  __device__ Chunk<T> staged(const Place<T, kAccess, kLanes>& place, std::byte* stage) const {
    const int lane = threadIdx.x % 32, begin = place.first - lane * kPerChunk<T> + lane;
#pragma unroll
    for (int e = 0; e < kPerChunk<T>; ++e) {
      const int at = begin + e * 32;
      const auto* bits = reinterpret_cast<const BitsOf<T>*>(data);
      reinterpret_cast<BitsOf<T>*>(stage)[e * 32 + lane] = at < cols ? __ldg(bits + at) : BitsOf<T>(0);
    }
    __syncwarp();
    const Chunk<T> chunk = load_cached(reinterpret_cast<const T*>(stage) + lane * kPerChunk<T>);
    __syncwarp();
    return chunk;
  }
};

// One row, written. `stage` is 512 bytes of shared memory a warp, through which neighbouring lanes come to access
// neighbouring elements of an askew row. Null where a warp's lanes do not hold neighbouring chunks of one row;
// otherwise whole warps call it.
template <class T, Access kAccess>
struct RowWriter {
  T* data;
  int cols;
  std::byte* stage;
  __device__ RowWriter(T* row, int length, std::byte* warp_stage) : data(row), cols(length), stage(warp_stage) {}

  template <int kLanes>
  __device__ void store(Share<kLanes> share, int stripe, const Chunk<T>& values) const {
    const auto place = place_of<T, kAccess>(share, stripe, cols);
    if constexpr (kAccess == Access::whole) {
      if (place.has(0)) store_streaming(data + place.first, values);
    } else {
      if constexpr (kAccess == Access::askew) {
        if (stage != nullptr) return store_staged(place, values);
      }
      BitsOf<T>* const mine = place.of_row(reinterpret_cast<BitsOf<T>*>(data));
      if constexpr (kAccess == Access::pairs) {
        if (is_aligned(data, 4)) {
#pragma unroll
          for (int i = 0; i < 4; ++i) {
            auto* const address = reinterpret_cast<uint32_t*>(mine + place.after_first(2 * i));
            if (place.has(2 * i)) *address = values.word[i];
          }
          return;
        }
      }
#pragma unroll
      for (int e = 0; e < kPerChunk<T>; ++e) {
        if (place.has(e)) mine[place.after_first(e)] = element_bits(values, e);
      }
    }
  }

 private:
  template <int kLanes>
  __device__ void store_staged(const Place<T, kAccess, kLanes>& place, const Chunk<T>& values) const {
    const int lane = threadIdx.x % 32, begin = place.first - lane * kPerChunk<T> + lane;
    reinterpret_cast<uint4*>(stage)[lane] = make_uint4(values.word[0], values.word[1], values.word[2], values.word[3]);
    __syncwarp();
#pragma unroll
    for (int e = 0; e < kPerChunk<T>; ++e) {
      const int at = begin + e * 32;
      if (at < cols) data[at] = reinterpret_cast<const T*>(stage)[e * 32 + lane];
    }
    __syncwarp();
  }
};

}  // namespace assay::simt
