// The device part of the Hopper product. A persistent grid takes tiles of C one after another. In each block one warp
// group fetches tiles of A and B by bulk copies into a ring of stages, two multiply them with warp-group MMA, each its
// 64 rows of the tile, and store what they summed. Products of one tile start while the stores of the last still run.
//
// Sums run over K from its first to its last element in steps of the instruction's own K, whatever the tile, so that an
// element's bits depend on its row of op(A) and column of op(B) alone.
#ifndef ASSAY_KERNELS_GEMM_HOPPER_KERNEL_CUH
#define ASSAY_KERNELS_GEMM_HOPPER_KERNEL_CUH

#include <cstring>
#include <type_traits>

#include "common/hopper/bulk.cuh"
#include "common/hopper/wgmma.cuh"
#include "gemm/cuda_call.cuh"

namespace assay::cuda_gemm {

inline constexpr int kRowBytes = 128;  // of a stage's rows: what swizzling and one bulk copy take
inline constexpr int kBlockM = 128;    // rows of C a block
inline constexpr int kThreads = 3 * 128;
inline constexpr int kTileGroup = 16;  // tiles of rows taken before the next column: operands stay in the second cache

// Finish makes elements of C of sums: row(i) and columns(j), of columns j and j + 1, fetch what it needs to know of
// them, also beyond C; quick(sum, row, columns, e, old, doubtful) is the element of column j + e, old being null where
// C is not read; where that cannot tell it says so, and precise(sum, row, columns, j + e) is asked. kPromote: after
// each stage the unit's sums are added to sums in f32.
template <class In_, class Out_, class Finish_, int kBlockN_, bool kMajorA_, bool kMajorB_, bool kPromote_>
struct Variant {
  using In = In_;
  using Out = Out_;
  using Finish = Finish_;
  using Sum = std::conditional_t<std::is_same_v<In, int8_t>, int32_t, float>;
  static constexpr int kBlockN = kBlockN_;
  static constexpr bool kMajorA = kMajorA_, kMajorB = kMajorB_, kPromote = kPromote_;
  static constexpr int kBlockK = kRowBytes / int(sizeof(In));
  static constexpr int kStages = kBlockN == 256 ? 4 : 6;
  static constexpr int kSums = kBlockN / 2;  // a thread
  static constexpr int kBytesA = kBlockM * kRowBytes, kBytesB = kBlockN * kRowBytes;
  static constexpr int kSharedBytes = kStages * (kBytesA + kBytesB) + 1024;  // what is dynamic starts anywhere
};

template <class V>
struct HopperTask {
  int64_t m, n, batch;
  int64_t tiles_m, tiles_n;
  int k_blocks;
  typename V::Finish finish;
  typename V::Out* c;
  int64_t c_row_stride, c_batch_stride;
  bool wide_stores;  // 16-byte stores are possible and C is not read
};

struct Tile {
  int64_t m, n, z;  // first row, first column, matrix
};

template <class V>
__device__ inline Tile tile_at(const HopperTask<V>& task, int64_t index) {
  const int64_t in_matrix = task.tiles_m * task.tiles_n;
  const int64_t z = index / in_matrix, rest = index % in_matrix;
  const int64_t first = rest / (kTileGroup * task.tiles_n) * kTileGroup;
  const int64_t rows = min(int64_t{kTileGroup}, task.tiles_m - first);
  const int64_t within = rest - first * task.tiles_n;
  return {(first + within % rows) * kBlockM, within / rows * V::kBlockN, z};
}

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

// A fetch of one operand's stage: blocks of 64 lines (K-major: of all lines) by one row of K.
template <bool kMajor, int kLines, int kBlockK>
__device__ inline void fetch(std::byte* stage, const CUtensorMap* map, uint64_t* full, int64_t line, int k, int64_t z) {
  if constexpr (kMajor) {
    hopper::copy_box(stage, map, full, k, int(line), int(z));
  } else {
    constexpr int kLinesOfBox = kBlockK;  // 128 bytes either way
    for (int box = 0; box < kLines / kLinesOfBox; ++box) {
      hopper::copy_box(stage + box * kBlockK * kRowBytes, map, full, int(line) + box * kLinesOfBox, k, int(z));
    }
  }
}

template <class V>
struct Ring {
  std::byte* stages;
  uint64_t *full, *empty;
  int stage = 0;
  uint32_t phase = 0;

  __device__ std::byte* a() const { return stages + stage * (V::kBytesA + V::kBytesB); }
  __device__ std::byte* b() const { return a() + V::kBytesA; }
  __device__ void advance() {
    if (++stage == V::kStages) {
      stage = 0;
      phase ^= 1;
    }
  }
};

template <class V>
__device__ inline void produce(Ring<V> ring, const HopperTask<V>& task, const CUtensorMap* map_a,
                               const CUtensorMap* map_b) {
  const int64_t tiles = task.tiles_m * task.tiles_n * task.batch;
  for (int64_t index = blockIdx.x; index < tiles; index += gridDim.x) {
    const Tile tile = tile_at<V>(task, index);
    for (int block = 0; block < task.k_blocks; ++block) {
      hopper::barrier_wait(&ring.empty[ring.stage], ring.phase ^ 1);
      uint64_t* full = &ring.full[ring.stage];
      hopper::barrier_arrive_expecting(full, V::kBytesA + V::kBytesB);
      fetch<V::kMajorA, kBlockM, V::kBlockK>(ring.a(), map_a, full, tile.m, block * V::kBlockK, tile.z);
      fetch<V::kMajorB, V::kBlockN, V::kBlockK>(ring.b(), map_b, full, tile.n, block * V::kBlockK, tile.z);
      ring.advance();
    }
  }
}

// The products of one stage; the first of them keeps what `d` holds only if `keep` is not 0.
template <class V>
__device__ inline void multiply(typename V::Sum (&d)[V::kSums], const Ring<V>& ring, int group, int keep) {
  constexpr int kSteps = 4;  // of 32 bytes of K
  constexpr int kHalfA = V::kBytesA / 2;
  constexpr int kStepA = V::kMajorA ? 32 : V::kBlockK / kSteps * kRowBytes;
  constexpr int kStepB = V::kMajorB ? 32 : V::kBlockK / kSteps * kRowBytes;
  constexpr int kBlockBytes = V::kBlockK * kRowBytes;
  const uint32_t a = hopper::shared_address(ring.a()) + group * kHalfA, b = hopper::shared_address(ring.b());
  const uint64_t first_a = hopper::matrix_descriptor<V::kMajorA>(a, kBlockBytes);
  const uint64_t first_b = hopper::matrix_descriptor<V::kMajorB>(b, kBlockBytes);
#pragma unroll
  for (int step = 0; step < kSteps; ++step) {
    hopper::wgmma<V::kMajorA, V::kMajorB>(d, typename V::In{}, first_a + uint64_t(step * kStepA >> 4),
                                          first_b + uint64_t(step * kStepB >> 4), step > 0 ? 1 : keep);
  }
}

// Each quad of lanes holds 2 of 8 columns a lane; afterwards each lane holds all 8 of one of four such groups.
__device__ inline void transpose_in_quad(uint32_t (&word)[4], int lane) {
#pragma unroll
  for (int distance = 1; distance <= 2; distance *= 2) {
    const bool upper = lane & distance;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if (i & distance) continue;
      const uint32_t given = upper ? word[i] : word[i + distance];
      const uint32_t taken = __shfl_xor_sync(0xffffffffu, given, distance);
      if (upper) {
        word[i] = taken;
      } else {
        word[i + distance] = taken;
      }
    }
  }
}

// 16 bytes of a row: what a quad of lanes holds of four groups of 8 columns (2-byte elements) or four pairs of groups
// (1-byte elements), put together in one lane.
template <class V>
__device__ inline void store_wide(const typename V::Sum (&d)[V::kSums], const HopperTask<V>& task, const Tile& tile,
                                  int64_t row, int lane) {
  using Out = typename V::Out;
  using Finish = typename V::Finish;
  constexpr int kGroups = 2 / int(sizeof(Out));  // of 8 columns that go into one word
  const Finish& finish = task.finish;
  const typename Finish::Row rows[2] = {finish.row(row), finish.row(row + 8)};
  Out* c = task.c + tile.z * task.c_batch_stride;
#pragma unroll
  for (int first = 0; first < V::kBlockN / 8; first += 4 * kGroups) {
    typename Finish::Columns columns[4 * kGroups];
#pragma unroll
    for (int group = 0; group < 4 * kGroups; ++group) {
      columns[group] = finish.columns(tile.n + 8 * (first + group) + 2 * (lane % 4));
    }
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      Out elements[8 * kGroups];
      uint32_t doubts = 0;
#pragma unroll
      for (int at = 0; at < 8 * kGroups; ++at) {
        bool doubtful = false;
        elements[at] = finish.quick(d[4 * (first + at / 2) + 2 * half + at % 2], rows[half], columns[at / 2], at % 2,
                                    static_cast<const Out*>(nullptr), doubtful);
        doubts |= uint32_t{doubtful} << at;
      }
      if (doubts != 0) {
#pragma unroll
        for (int at = 0; at < 8 * kGroups; ++at) {
          if ((doubts >> at & 1) == 0) continue;
          elements[at] = finish.precise(d[4 * (first + at / 2) + 2 * half + at % 2], rows[half], columns[at / 2],
                                        tile.n + 8 * (first + at / 2) + 2 * (lane % 4) + at % 2);
        }
      }
      uint32_t word[4];
      memcpy(word, elements, sizeof word);
      transpose_in_quad(word, lane);
      if constexpr (kGroups == 2) {  // lower halves of the words belong to the first group
        const uint32_t mixed[4] = {word[0], word[1], word[2], word[3]};
        word[0] = __byte_perm(mixed[0], mixed[1], 0x5410);
        word[1] = __byte_perm(mixed[2], mixed[3], 0x5410);
        word[2] = __byte_perm(mixed[0], mixed[1], 0x7632);
        word[3] = __byte_perm(mixed[2], mixed[3], 0x7632);
      }
      const int64_t i = row + 8 * half, column = tile.n + 8 * (first + lane % 4 * kGroups);
      if (i < task.m && column < task.n) {
        *reinterpret_cast<uint4*>(c + i * task.c_row_stride + column) = make_uint4(word[0], word[1], word[2], word[3]);
      }
    }
  }
}

template <class V>
__device__ inline void store_any(const typename V::Sum (&d)[V::kSums], const HopperTask<V>& task, const Tile& tile,
                                 int64_t row, int lane) {
  using Finish = typename V::Finish;
  const Finish& finish = task.finish;
  const typename Finish::Row rows[2] = {finish.row(row), finish.row(row + 8)};
  typename V::Out* c = task.c + tile.z * task.c_batch_stride;
#pragma unroll
  for (int j = 0; j < V::kBlockN / 8; ++j) {
    const int64_t pair = tile.n + 8 * j + 2 * (lane % 4);
    const typename Finish::Columns columns = finish.columns(pair);
#pragma unroll
    for (int at = 0; at < 4; ++at) {
      const int64_t i = row + 8 * (at / 2), column = pair + at % 2;
      if (i >= task.m || column >= task.n) continue;
      typename V::Out* to = c + i * task.c_row_stride + column;
      bool doubtful = false;
      *to = finish.quick(d[4 * j + at], rows[at / 2], columns, at % 2, to, doubtful);
      if (doubtful) *to = finish.precise(d[4 * j + at], rows[at / 2], columns, column);
    }
  }
}

// What a consumer group does between the ring and its sums.
template <class V>
struct Consumer {
  using Sums = typename V::Sum[V::kSums];
  Ring<V> ring;
  int group, lane;
  int last = 0;  // stage whose products were started last

  // Starts the products of the next stage.
  __device__ void start(Sums& d, int keep) {
    hopper::barrier_wait(&ring.full[ring.stage], ring.phase);
    hopper::wgmma_fence();
    multiply<V>(d, ring, group, keep);
    hopper::wgmma_commit();
    last = ring.stage;
    ring.advance();
  }
  __device__ void release(int stage) const {
    if (lane == 0) hopper::barrier_arrive(&ring.empty[stage]);
  }
  // Starts the next stage, waits for the one before it and gives its memory back.
  __device__ void start_and_settle(Sums& d, int keep) {
    const int before = last;
    start(d, keep);
    hopper::wgmma_wait<1>();
    release(before);
  }
  __device__ void settle() const {
    hopper::wgmma_wait<0>();
    release(last);
  }
};

template <class V>
__device__ inline void sum_tile(Consumer<V>& consumer, int k_blocks, typename V::Sum (&d)[V::kSums]) {
  if (k_blocks == 0) {
#pragma unroll
    for (int i = 0; i < V::kSums; ++i) d[i] = 0;
    return;
  }
  consumer.start(d, 0);
  for (int block = 1; block < k_blocks; ++block) consumer.start_and_settle(d, 1);
  consumer.settle();
}

// Stages are summed apart, by turns in two sets of registers, and added to `sum` while the next is multiplied.
template <class V>
__device__ inline void sum_tile_promoted(Consumer<V>& consumer, int k_blocks, typename V::Sum (&sum)[V::kSums]) {
  typename V::Sum even[V::kSums], odd[V::kSums];
  const auto add = [&sum](const typename V::Sum(&part)[V::kSums]) {
#pragma unroll
    for (int i = 0; i < V::kSums; ++i) sum[i] += part[i];
  };
#pragma unroll
  for (int i = 0; i < V::kSums; ++i) sum[i] = 0;
  if (k_blocks == 0) return;
  consumer.start(even, 0);
  int block = 1;
  for (; block + 1 < k_blocks; block += 2) {
    consumer.start_and_settle(odd, 0);
    add(even);
    consumer.start_and_settle(even, 0);
    add(odd);
  }
  if (block < k_blocks) {
    consumer.start_and_settle(odd, 0);
    add(even);
    consumer.settle();
    add(odd);
  } else {
    consumer.settle();
    add(even);
  }
}

template <class V>
__device__ inline void consume(const Ring<V>& ring, const HopperTask<V>& task, int group) {
  const int thread = threadIdx.x % 128, lane = thread % 32;
  const int64_t tiles = task.tiles_m * task.tiles_n * task.batch;
  Consumer<V> consumer{ring, group, lane};
  for (int64_t index = blockIdx.x; index < tiles; index += gridDim.x) {
    const Tile tile = tile_at<V>(task, index);
    typename V::Sum d[V::kSums];
    if constexpr (V::kPromote) {
      sum_tile_promoted<V>(consumer, task.k_blocks, d);
    } else {
      sum_tile<V>(consumer, task.k_blocks, d);
    }
    const int64_t row = tile.m + group * 64 + thread / 32 * 16 + lane / 4;
    if (sizeof(typename V::Out) <= 2 && task.wide_stores) {
      if constexpr (sizeof(typename V::Out) <= 2) store_wide<V>(d, task, tile, row, lane);
    } else {
      store_any<V>(d, task, tile, row, lane);
    }
  }
}

#endif

template <class V>
__global__ void __launch_bounds__(kThreads, 1)
    hopper_product(const __grid_constant__ CUtensorMap map_a, const __grid_constant__ CUtensorMap map_b,
                   const __grid_constant__ HopperTask<V> task) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  extern __shared__ std::byte dynamic[];
  __shared__ alignas(8) uint64_t full[V::kStages], empty[V::kStages];
  const uint32_t misaligned = hopper::shared_address(dynamic) % 1024;
  const Ring<V> ring{dynamic + (misaligned == 0 ? 0 : 1024 - misaligned), full, empty};
  const int warp_group = threadIdx.x / 128;
  if (threadIdx.x == 0) {
    for (int stage = 0; stage < V::kStages; ++stage) {
      hopper::barrier_init(&full[stage], 1);
      hopper::barrier_init(&empty[stage], 8);  // the consumers' warps
    }
    hopper::barrier_init_fence();
    hopper::prefetch_map(&map_a);
    hopper::prefetch_map(&map_b);
  }
  __syncthreads();
  if (warp_group == 0) {
    hopper::lower_registers<40>();
    if (threadIdx.x == 0) produce<V>(ring, task, &map_a, &map_b);
  } else {
    hopper::raise_registers<232>();
    consume<V>(ring, task, warp_group - 1);
  }
#endif
}

}  // namespace assay::cuda_gemm
#endif
