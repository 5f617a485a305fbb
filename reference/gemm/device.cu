// The gemm oracle on a CUDA device: sums by tiles, each element's in the order of k; what is known of rows and columns
// by kernels of its own.
#include "reference/device.cuh"
#include "reference/gemm/gemm.h"
#include "reference/gemm/oracle.h"
#include "reference/tiles.cuh"

namespace assay {
namespace gemm {
namespace {

// The matrices of a batch, whichever way they are stored: element (i, j) of op(X).
struct Matrices {
  const void* data = nullptr;
  int64_t entry_stride = 0, row_stride = 0, col_stride = 0;

  __device__ int64_t offset(int64_t entry, int64_t i, int64_t j) const {
    return entry * entry_stride + i * row_stride + j * col_stride;
  }
  template <DType T>
  __device__ double at(int64_t entry, int64_t i, int64_t j) const {
    return load_aligned(T, data, offset(entry, i, j));
  }
};

Matrices matrices_of(const DeviceTensor& tensor, bool transposed) {
  const std::vector<int64_t>& s = tensor.spec->strides;
  return {tensor.data, s[0], transposed ? s[2] : s[1], transposed ? s[1] : s[2]};
}
Matrices turned(const Matrices& m) { return {m.data, m.entry_stride, m.col_stride, m.row_stride}; }

__device__ Line down(const Line& line, int lanes) {
  Line other;
  other.largest = __shfl_down_sync(~0u, line.largest, lanes);
  other.quantum = __shfl_down_sync(~0u, line.quantum, lanes);
  other.nonzeros = __shfl_down_sync(~0u, line.nonzeros, lanes);
  other.last = __shfl_down_sync(~0u, line.last, lanes);
  other.finite = __shfl_down_sync(~0u, static_cast<int>(line.finite), lanes) != 0;
  return other;
}

// Rows [first, first + count) of all entries' matrices, `height` to an entry; a warp a line.
template <DType T>
__global__ void look_at_lines(Matrices m, int64_t height, int64_t first, int64_t count, int64_t depth, Line* out) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int64_t step = int64_t{gridDim.x} * blockDim.x / 32;
  for (int64_t at = (int64_t{blockIdx.x} * blockDim.x + threadIdx.x) / 32; at < count; at += step) {
    const int64_t entry = (first + at) / height, i = (first + at) % height;
    Line line;
    for (int64_t k = lane; k < depth; k += 32) line.add(m.at<T>(entry, i, k), k);
    for (int lanes = 16; lanes > 0; lanes /= 2) line.add(down(line, lanes));
    if (lane == 0) out[at] = line;
  }
}

template <DType T>
struct Work {
  using Operand = double;
  using Sum = Sums;
  static constexpr int kRowsEach = T == DType::f64 ? 4 : 8;

  Matrices a_, b_, c_;
  DType c_dtype;
  bool a_runs_along_k, b_runs_along_k;
  const Line* rows;     // of the chunk
  const Line* columns;  // of all entries
  Scalars scalars;
  int64_t height, width;  // of the product
  int64_t first_row;      // of the chunk, counted through all entries
  int64_t first_entry;
  DeviceReference out;

  __device__ double a(int64_t entry, int64_t i, int64_t k) const { return a_.at<T>(entry, i, k); }
  __device__ double b(int64_t entry, int64_t k, int64_t j) const { return b_.at<T>(entry, k, j); }
  __device__ static void add(double a, double b, Sums& sums) {
    if constexpr (T == DType::f64) {
      add_product_exactly(a, b, sums.high, sums.low, sums.magnitude);
    } else {
      add_product(a, b, sums.high, sums.magnitude);
    }
  }
  __device__ void finish(int64_t entry, int64_t i, int64_t j, const Sums& sums) const {
    const int64_t row = entry * height + i - first_row;
    const Line& line = rows[row];
    const Line& column = columns[entry * width + j];
    const int quantum = quantum_of_products(
        line, column, [&](int64_t k) { return a(entry, i, k); }, [&](int64_t k) { return b(entry, k, j); });
    const double old = scalars.reads_c() ? load_aligned(c_dtype, c_.data, c_.offset(entry, i, j)) : 0;
    const Element e = gemm::finish(scalars, sums, line, column, quantum, old);
    const int64_t at = row * width + j;
    out.hi[at] = e.hi;
    out.lo[at] = e.lo;
    out.e_ref[at] = e.e_ref;
    for (int k = 0; k < kConditions; ++k) out.conditions[k][at] = e.condition[k];
  }
};

class OnDevice final : public DeviceOracle {
 public:
  OnDevice(const Case& c, std::span<const DeviceTensor> tensors)
      : case_(c),
        dtype_(tensors[kA].spec->dtype),
        scalars_{.alpha = c.real("alpha"), .beta = c.real("beta"), .k = c.integer("k"), .dot2 = dtype_ == DType::f64},
        depth_(scalars_.reads_products() ? scalars_.k : 0),
        height_(c.integer("m")),
        a_(matrices_of(tensors[kA], c.word("ta") == "t")),
        b_(matrices_of(tensors[kB], c.word("tb") == "t")),
        c_(matrices_of(tensors[kC], false)),
        columns_(static_cast<size_t>(c.integer("batch") * c.integer("n")) * sizeof(Line)) {
    outputs_.push_back({.tensor = "c",
                        .dtype = tensors[kC].spec->dtype,
                        .row_elements = c.integer("n"),
                        .conditions = {std::begin(kPer), std::end(kPer)}});
  }

  int64_t rows() const override { return case_.integer("batch") * height_; }
  const std::vector<DeviceOutput>& outputs() const override { return outputs_; }

  void compute(int64_t first, int64_t rows, std::span<const DeviceReference> out, void* stream) override {
    if (rows == 0 || outputs_[0].row_elements == 0) return;
    switch (dtype_) {
      case DType::f64:
        return compute_as<DType::f64>(first, rows, out[0], stream_of(stream));
      case DType::f32:
        return compute_as<DType::f32>(first, rows, out[0], stream_of(stream));
      case DType::f16:
        return compute_as<DType::f16>(first, rows, out[0], stream_of(stream));
      case DType::bf16:
        return compute_as<DType::bf16>(first, rows, out[0], stream_of(stream));
      case DType::e4m3:
        return compute_as<DType::e4m3>(first, rows, out[0], stream_of(stream));
      default:
        throw Error("gemm oracle: no dtype " + std::string(name_of(dtype_)));
    }
  }

  void bounds(const Contract& contract, size_t, int64_t rows, const DeviceReference& reference, const DeviceBounds& out,
              void* stream) const override {
    bounds_on_device(rule_of(case_, contract), outputs_[0], rows, reference, out, stream);
  }

 private:
  template <DType T>
  void compute_as(int64_t first, int64_t rows, const DeviceReference& out, cudaStream_t stream) {
    const int64_t width = outputs_[0].row_elements;
    if (!columns_known_) {
      look<T>(turned(b_), width, 0, case_.integer("batch") * width, columns_, stream);
      columns_known_ = true;
    }
    const auto bytes = static_cast<size_t>(rows) * sizeof(Line);
    if (rows_.bytes() < bytes) rows_ = DeviceMemory(bytes);
    look<T>(a_, height_, first, rows, rows_, stream);
    Work<T> work{.a_ = a_,
                 .b_ = b_,
                 .c_ = c_,
                 .c_dtype = outputs_[0].dtype,
                 .a_runs_along_k = a_.col_stride == 1,
                 .b_runs_along_k = b_.row_stride == 1,
                 .rows = reinterpret_cast<const Line*>(rows_.data()),
                 .columns = reinterpret_cast<const Line*>(columns_.data()),
                 .scalars = scalars_,
                 .height = height_,
                 .width = width,
                 .first_row = first,
                 .out = out};
    // Whole entries at once; the chunk may begin and end within one.
    for (int64_t row = first; row < first + rows;) {
      const int64_t from = row % height_, left = first + rows - row;
      const int64_t entries = from == 0 && left >= height_ ? left / height_ : 1;
      const int64_t count = entries > 1 ? height_ : std::min(height_ - from, left);
      work.first_entry = row / height_;
      compute_product(work, {.first_row = from, .rows = count, .cols = width, .depth = depth_}, entries, stream);
      row += entries * count;
    }
  }

  template <DType T>
  void look(const Matrices& m, int64_t height, int64_t first, int64_t count, const DeviceMemory& out,
            cudaStream_t stream) {
    look_at_lines<T><<<blocks_for(32 * count), kThreads, 0, stream>>>(m, height, first, count, depth_,
                                                                      reinterpret_cast<Line*>(out.data()));
    require_launched("gemm oracle");
  }

  Case case_;
  DType dtype_;  // of a and b
  Scalars scalars_;
  int64_t depth_;   // products that are read
  int64_t height_;  // of an entry
  Matrices a_, b_, c_;
  DeviceMemory rows_, columns_;
  bool columns_known_ = false;
  std::vector<DeviceOutput> outputs_;
};

}  // namespace
}  // namespace gemm

std::unique_ptr<DeviceOracle> make_gemm_device_oracle(const Case& c, std::span<const DeviceTensor> tensors) {
  return std::make_unique<gemm::OnDevice>(c, tensors);
}

}  // namespace assay
