// A warp takes a piece of a matrix: of one row where a row's elements are neighbours in memory, else of 32 rows, a lane
// a row. What it finds of a row is added to that row's sums in memory, which no order changes.
#include <algorithm>

#include "check/device_freivalds.h"
#include "check/number.h"
#include "check/residue.h"
#include "core/cuda.cuh"
#include "core/device_memory.h"

namespace assay {
namespace {

using residue::HalfSums;

constexpr int kLanes = 32;
constexpr unsigned long long kNone = ~0ull;

// IntegersFound as atomics add to it.
struct Found {
  unsigned long long largest, others, first_other;
};

struct Pass {
  MatrixView m;
  bool along_rows;     // a row's elements are neighbours
  int64_t piece_cols;  // of a piece
  int64_t pieces;      // in all
  const uint64_t* x;
  bool x_is_shared;
  double limit;
  HalfSums* products;
  HalfSums* sums;  // null: not asked for
  Found* found;
};

__device__ void add_to(HalfSums* sum, const HalfSums& more) {
  atomicAdd(reinterpret_cast<unsigned long long*>(&sum->low), static_cast<unsigned long long>(more.low));
  atomicAdd(reinterpret_cast<unsigned long long*>(&sum->high), static_cast<unsigned long long>(more.high));
}

__device__ HalfSums sum_of_lanes(HalfSums sum) {
  for (int half = kLanes / 2; half > 0; half /= 2) {
    sum.low += __shfl_down_sync(~0u, sum.low, half);
    sum.high += __shfl_down_sync(~0u, sum.high, half);
  }
  return sum;
}

template <DType T>
__global__ void multiply(Pass pass) {
  const MatrixView& m = pass.m;
  const int lane = static_cast<int>(threadIdx.x) % kLanes;
  const int64_t rows_each = pass.along_rows ? 1 : kLanes;
  const int64_t pieces_across = (m.cols + pass.piece_cols - 1) / pass.piece_cols;
  const int64_t pieces_down = (m.rows + rows_each - 1) / rows_each;
  const int64_t first_col = pass.along_rows ? lane : 0, step = pass.along_rows ? kLanes : 1;
  const int64_t warps = int64_t{gridDim.x} * blockDim.x / kLanes;
  Found mine{0, 0, kNone};
  for (int64_t piece = (int64_t{blockIdx.x} * blockDim.x + threadIdx.x) / kLanes; piece < pass.pieces; piece += warps) {
    const int64_t begin = piece % pieces_across * pass.piece_cols;
    const int64_t down = piece / pieces_across;
    const int64_t entry = down / pieces_down;
    const int64_t i = down % pieces_down * rows_each + (pass.along_rows ? 0 : lane);
    const int64_t end = begin + pass.piece_cols < m.cols ? begin + pass.piece_cols : m.cols;
    const uint64_t* x = pass.x + (pass.x_is_shared ? 0 : entry * m.cols);
    HalfSums product, sum;
    for (int64_t j = begin + first_col; i < m.rows && j < end; j += step) {
      const auto bits = static_cast<const BitsOf<size_of(T)>*>(m.data)[m.offset(entry, i, j)];
      const residue::Integer element = residue::integer_within(decode(T, bits), pass.limit);
      if (!element.is_one) {
        const auto index = static_cast<unsigned long long>((entry * m.rows + i) * m.cols + j);
        ++mine.others;
        if (index < mine.first_other) mine.first_other = index;
        continue;
      }
      const uint64_t magnitude =
          element.value < 0 ? uint64_t{0} - static_cast<uint64_t>(element.value) : static_cast<uint64_t>(element.value);
      if (magnitude > mine.largest) mine.largest = magnitude;
      product.add(residue::multiply(residue::of_integer(element.value), x[j]));
      sum.add(magnitude);
    }
    if (pass.along_rows) {
      product = sum_of_lanes(product);
      sum = sum_of_lanes(sum);
    }
    if (i >= m.rows || (pass.along_rows && lane != 0)) continue;
    add_to(&pass.products[entry * m.rows + i], product);
    if (pass.sums != nullptr) add_to(&pass.sums[entry * m.rows + i], sum);
  }
  for (int half = kLanes / 2; half > 0; half /= 2) {
    const unsigned long long other = __shfl_down_sync(~0u, mine.largest, half);
    if (other > mine.largest) mine.largest = other;
  }
  if (lane == 0 && mine.largest > 0) atomicMax(&pass.found->largest, mine.largest);
  if (mine.others > 0) {
    atomicAdd(&pass.found->others, mine.others);
    atomicMin(&pass.found->first_other, mine.first_other);
  }
}

template <DType T>
__global__ void gather(MatrixView m, int64_t first, int64_t stride, int64_t count, double* to) {
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step) {
    to[i] = decode(T, static_cast<const BitsOf<size_of(T)>*>(m.data)[first + i * stride]);
  }
}

class DevicePasses : public MatrixPasses {
 public:
  explicit DevicePasses(void* stream) : stream_(stream) {}

  IntegersFound multiply(const MatrixView& m, std::span<const uint64_t> x, double limit,
                         std::vector<uint64_t>& products, std::vector<double>* sums) override {
    const int64_t rows = m.entries * m.rows;
    products.assign(static_cast<size_t>(rows), 0);
    if (sums != nullptr) sums->assign(static_cast<size_t>(rows), 0);
    if (rows == 0 || m.cols == 0) return {};
    // One piece of memory: the vector, the sums, what is found.
    const size_t of_x = x.size_bytes(), of_sums = static_cast<size_t>(rows) * sizeof(HalfSums);
    const size_t of_all_sums = of_sums * (sums != nullptr ? 2 : 1);
    std::byte* const memory = reserve(of_x + of_all_sums + sizeof(Found));
    std::byte* const results = memory + of_x;
    const Found nothing{0, 0, kNone};
    copy_to_device(memory, x.data(), of_x, stream_);
    require_cuda(cudaMemsetAsync(results, 0, of_all_sums, stream_of(stream_)), "freivalds");
    copy_to_device(results + of_all_sums, &nothing, sizeof nothing, stream_);
    Pass pass{.m = m,
              .along_rows = m.col_stride <= m.row_stride,
              .piece_cols = 0,
              .pieces = 0,
              .x = reinterpret_cast<const uint64_t*>(memory),
              .x_is_shared = static_cast<int64_t>(x.size()) == m.cols,
              .limit = limit,
              .products = reinterpret_cast<HalfSums*>(results),
              .sums = sums == nullptr ? nullptr : reinterpret_cast<HalfSums*>(results + of_sums),
              .found = reinterpret_cast<Found*>(results + of_all_sums)};
    pass.piece_cols = pass.along_rows ? 4096 : 128;
    const int64_t down = pass.along_rows ? m.rows : (m.rows + kLanes - 1) / kLanes;
    pass.pieces = m.entries * down * ((m.cols + pass.piece_cols - 1) / pass.piece_cols);
    with_dtype(m.dtype, [&](auto type) {
      assay::multiply<decltype(type)::value>
          <<<std::min(blocks_for(pass.pieces * kLanes), kMostBlocks), kThreads, 0, stream_of(stream_)>>>(pass);
      require_launched("freivalds");
    });
    host_.resize(of_all_sums + sizeof(Found));
    copy_to_host(host_.data(), results, host_.size(), stream_);
    const auto* found_sums = reinterpret_cast<const HalfSums*>(host_.data());
    for (size_t i = 0; i < products.size(); ++i) products[i] = residue::of_sum(found_sums[i]);
    for (size_t i = 0; sums != nullptr && i < sums->size(); ++i) {
      (*sums)[i] = residue::rounded_up(found_sums[products.size() + i]);
    }
    const auto& found = *reinterpret_cast<const Found*>(host_.data() + of_all_sums);
    return {found.largest, static_cast<int64_t>(found.others), static_cast<int64_t>(found.first_other)};
  }

  std::vector<double> elements(const MatrixView& m, int64_t first, int64_t stride, int64_t count) override {
    std::vector<double> values(static_cast<size_t>(count));
    if (count == 0) return values;
    auto* const to = reinterpret_cast<double*>(reserve(values.size() * sizeof(double)));
    with_dtype(m.dtype, [&](auto type) {
      gather<decltype(type)::value>
          <<<blocks_for(count), kThreads, 0, stream_of(stream_)>>>(m, first, stride, count, to);
      require_launched("freivalds");
    });
    copy_to_host(values.data(), to, values.size() * sizeof(double), stream_);
    return values;
  }

 private:
  static constexpr unsigned kMostBlocks = 132 * 16;  // enough for any device; fewer ends of warps to be added up

  std::byte* reserve(size_t bytes) {
    if (memory_.bytes() < bytes) {
      memory_ = DeviceMemory();
      memory_ = DeviceMemory(bytes);
    }
    return memory_.data();
  }

  void* stream_;
  DeviceMemory memory_;
  std::vector<std::byte> host_;
};

}  // namespace

std::unique_ptr<MatrixPasses> make_device_passes(void* stream) { return std::make_unique<DevicePasses>(stream); }

}  // namespace assay
