// The gemm_int8 oracle on a CUDA device. Sums are integers: no order can change them.
#include "reference/device.cuh"
#include "reference/gemm_int8/gemm_int8.h"
#include "reference/gemm_int8/oracle.h"
#include "reference/tiles.cuh"

namespace assay {
namespace gemm_int8 {
namespace {

struct Work {
  using Operand = int32_t;
  using Sum = int32_t;
  static constexpr int kRowsEach = 8;

  const int8_t *a_, *b_;
  int64_t a_row_stride, a_col_stride, b_row_stride, b_col_stride;
  bool a_runs_along_k, b_runs_along_k;
  int32_t za, zb;
  int64_t zy;
  const float *scale_a, *scale_b, *scale_y;
  bool per_channel;
  int64_t width, first_row, first_entry;
  DeviceReference out;

  __device__ int32_t a(int64_t, int64_t i, int64_t k) const { return a_[i * a_row_stride + k * a_col_stride] - za; }
  __device__ int32_t b(int64_t, int64_t k, int64_t j) const { return b_[k * b_row_stride + j * b_col_stride] - zb; }
  __device__ static void add(int32_t a, int32_t b, int32_t& sum) { sum += a * b; }
  __device__ void finish(int64_t, int64_t i, int64_t j, int32_t sum) const {
    const Element e = requantize(sum, *scale_a, scale_b[per_channel ? j : 0], *scale_y, zy);
    const int64_t at = (i - first_row) * width + j;
    out.hi[at] = e.r;
    out.lo[at] = 0;
    out.e_ref[at] = e.e_ref;
    for (int k = 0; k < kConditions; ++k) out.conditions[k][at] = e.condition[k];
  }
};

class OnDevice final : public DeviceOracle {
 public:
  OnDevice(const Case& c, std::span<const DeviceTensor> tensors) : case_(c), k_(c.integer("k")) {
    const std::vector<int64_t>&a = tensors[kA].spec->strides, &b = tensors[kB].spec->strides;
    const bool tb = c.word("tb") == "t";
    const auto floats = [&](size_t tensor) { return static_cast<const float*>(tensors[tensor].data); };
    work_ = {.a_ = static_cast<const int8_t*>(tensors[kA].data),
             .b_ = static_cast<const int8_t*>(tensors[kB].data),
             .a_row_stride = a[0],
             .a_col_stride = a[1],
             .b_row_stride = b[tb ? 1 : 0],
             .b_col_stride = b[tb ? 0 : 1],
             .a_runs_along_k = a[1] == 1,
             .b_runs_along_k = b[tb ? 1 : 0] == 1,
             .za = static_cast<int32_t>(c.integer("za")),
             .zb = static_cast<int32_t>(c.integer("zb")),
             .zy = c.integer("zy"),
             .scale_a = floats(kScaleA),
             .scale_b = floats(kScaleB),
             .scale_y = floats(kScaleY),
             .per_channel = c.word("scales") == "channel",
             .width = c.integer("n")};
    outputs_.push_back({.tensor = "y",
                        .dtype = DType::i8,
                        .row_elements = work_.width,
                        .conditions = {std::begin(kPer), std::end(kPer)}});
  }

  int64_t rows() const override { return case_.integer("m"); }
  const std::vector<DeviceOutput>& outputs() const override { return outputs_; }

  void compute(int64_t first, int64_t rows, std::span<const DeviceReference> out, void* stream) override {
    work_.first_row = first;
    work_.out = out[0];
    compute_product(work_, {.first_row = first, .rows = rows, .cols = work_.width, .depth = k_}, 1, stream_of(stream));
  }

  void bounds(const Contract& contract, size_t, int64_t rows, const DeviceReference& reference, const DeviceBounds& out,
              void* stream) const override {
    bounds_on_device(rule_of(contract), outputs_[0], rows, reference, out, stream);
  }

 private:
  Case case_;
  int64_t k_;
  Work work_{};
  std::vector<DeviceOutput> outputs_;
};

}  // namespace
}  // namespace gemm_int8

std::unique_ptr<DeviceOracle> make_gemm_int8_device_oracle(const Case& c, std::span<const DeviceTensor> tensors) {
  return std::make_unique<gemm_int8::OnDevice>(c, tensors);
}

}  // namespace assay
