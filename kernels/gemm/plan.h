// How one matrix product is cut up, decided before any data is seen. C is covered by a grid of tiles, one job each; a
// job computes its tile over the whole of K, so that no two threads add to one element and the bits do not depend on
// how many threads there are or on how the grid was chosen.
// Shared by gemm and gemm_int8.
//
// Inside a job K is cut into blocks of kDepth. The block of A is packed once; a few panels of B at a time are packed
// and multiplied with all of it (or B is read in place, when a single strip of rows makes packing pointless). After
// Goto and van de Geijn, "Anatomy of High-Performance Matrix Multiplication" (ACM TOMS 34, 2008).
#ifndef ASSAY_KERNELS_GEMM_PLAN_H
#define ASSAY_KERNELS_GEMM_PLAN_H

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace assay::gemm {

// Products summed in registers before they are added to what earlier blocks of K gave. Part of the result's bits.
constexpr int64_t kDepth = 256;
// Largest tile of C: its block of A (kTileRows x kDepth) and its partial sums stay in the second-level cache.
constexpr int64_t kTileRows = 504;
constexpr int64_t kTileColumns = 1024;
// Panels of B packed together when B is stored as rows of K, so that long pieces of rows are read.
constexpr int64_t kPanels = 4;
constexpr int64_t kMaxThreads = 32;  // each has scratch of its own, and the whole is limited
constexpr int64_t kScratchAlignment = 64;

struct Matrix {
  int64_t row_stride = 0;    // elements, as stored
  int64_t batch_stride = 0;  // elements
  bool transposed = false;
};

struct Plan;
struct Operands {
  const void* a = nullptr;
  const void* b = nullptr;
  void* c = nullptr;
};

// Computes job `job` of the plan. `scratch` is the thread's own, plan.scratch_bytes of it.
using RunJob = void (*)(const Plan& plan, const Operands& operands, int64_t job, std::byte* scratch);

// What one instruction set offers for one element type.
struct Micro {
  const char* isa = nullptr;
  int64_t rows = 0;          // of the widest strip of C held in registers
  int64_t columns = 0;       // of that strip
  int64_t wide_columns = 0;  // a multiple of the width of every strip that reads B in place; 0: there is none
  int64_t packed = 0;        // bytes of an element once packed
  int64_t sum = 0;           // bytes of a partial sum
  RunJob run = nullptr;
};

struct Plan {
  int64_t m = 0, n = 0, k = 0, batch = 0;
  double alpha = 1, beta = 0;
  Matrix a, b, c;
  Micro micro;

  bool reads_b_in_place = false;
  int64_t panels = 1;  // of B, packed together
  int threads = 1;
  int64_t tile_rows = 0, tile_columns = 0;  // multiples of the strip's, save where the matrix ends
  int64_t grid_rows = 0, grid_columns = 0;
  int64_t a_bytes = 0, b_bytes = 0, partial_bytes = 0;  // the parts of a thread's scratch, in this order
  int64_t scratch_bytes = 0;

  bool has_product() const { return k > 0 && alpha != 0; }
  int64_t jobs() const { return grid_rows * grid_columns * batch; }
};

inline int64_t ceil_div(int64_t value, int64_t by) { return (value + by - 1) / by; }
inline int64_t round_up(int64_t value, int64_t to) { return ceil_div(value, to) * to; }

// The grid with the least estimated time: waves of jobs, each costing its multiplications plus its packing.
inline void choose_grid(Plan& plan, int64_t row_unit, int64_t column_unit) {
  constexpr double kPackingCost = 16;  // multiply-adds done in the time that packing one element takes
  const int64_t min_rows = ceil_div(plan.m, kTileRows), min_columns = ceil_div(plan.n, kTileColumns);
  double best = std::numeric_limits<double>::infinity();
  for (int64_t split_rows = min_rows; split_rows < min_rows + plan.threads; ++split_rows) {
    for (int64_t split_columns = min_columns; split_columns < min_columns + plan.threads; ++split_columns) {
      const int64_t rows = std::min(kTileRows, round_up(ceil_div(plan.m, split_rows), row_unit));
      const int64_t columns = std::min(kTileColumns, round_up(ceil_div(plan.n, split_columns), column_unit));
      const int64_t jobs = ceil_div(plan.m, rows) * ceil_div(plan.n, columns) * plan.batch;
      const double work = double(rows) * double(columns) + kPackingCost * double(rows + columns);
      const double cost = double(ceil_div(jobs, plan.threads)) * work;
      if (cost < best) {
        best = cost;
        plan.tile_rows = rows;
        plan.tile_columns = columns;
      }
    }
  }
  plan.grid_rows = ceil_div(plan.m, plan.tile_rows);
  plan.grid_columns = ceil_div(plan.n, plan.tile_columns);
}

// Fills everything below `micro`; what is above it is given.
inline void finish_plan(Plan& plan, int threads) {
  constexpr double kWorthAThread = 1 << 18;  // multiply-adds; below, waking a thread costs more than it saves
  if (plan.m == 0 || plan.n == 0 || plan.batch == 0) return;
  const double work = double(plan.m) * double(plan.n) * double(plan.batch) * double(std::max<int64_t>(plan.k, 1));
  const double useful = std::clamp(work / kWorthAThread, 1.0, double(kMaxThreads));
  plan.threads = std::clamp(int(useful), 1, std::max(threads, 1));
  plan.reads_b_in_place = plan.micro.wide_columns > 0 && !plan.b.transposed && plan.m <= plan.micro.rows;
  plan.panels = plan.reads_b_in_place || plan.b.transposed ? 1 : kPanels;
  const int64_t column_unit = plan.reads_b_in_place ? plan.micro.wide_columns : plan.micro.columns;
  choose_grid(plan, plan.micro.rows, column_unit);
  if (!plan.has_product()) return;

  const auto aligned = [](int64_t bytes) { return round_up(bytes, kScratchAlignment); };
  plan.a_bytes = aligned(plan.tile_rows * kDepth * plan.micro.packed);
  const int64_t packed_columns = std::min(plan.panels * column_unit, plan.tile_columns);
  plan.b_bytes = aligned(std::min(round_up(plan.k, 2), kDepth) * packed_columns * plan.micro.packed);
  plan.partial_bytes = plan.k > kDepth ? aligned(plan.tile_rows * plan.tile_columns * plan.micro.sum) : 0;
  plan.scratch_bytes = plan.a_bytes + plan.b_bytes + plan.partial_bytes;
}

}  // namespace assay::gemm
#endif
