// The layernorm_residual oracle on a CUDA device: eight threads a row, each row as layernorm_row() has it.
#include "reference/device.cuh"
#include "reference/layernorm_residual/oracle.h"
#include "reference/row_team.cuh"

namespace assay {
namespace layernorm {
namespace {

struct Outputs {
  DeviceReference y, mean, deviation;
};

// x lies in y.hi and the residual in y.lo until a row is computed.
template <class Real>
__global__ void compute_rows(Row like, int64_t rows, Outputs out) {
  const int64_t row = (int64_t{blockIdx.x} * blockDim.x + threadIdx.x) / TeamOfEight::kSize;
  if (row >= rows) return;
  const int64_t first = row * like.cols;
  like.x = out.y.hi + first;
  like.residual = out.y.lo + first;
  const Result result{.y_hi = out.y.hi + first,
                      .y_lo = out.y.lo + first,
                      .y_error = out.y.e_ref + first,
                      .sum_magnitude = out.y.conditions[kSum] + first,
                      .centred_magnitude = out.y.conditions[kCentred] + first,
                      .mean_hi = out.mean.hi + row,
                      .mean_lo = out.mean.lo + row,
                      .mean_error = out.mean.e_ref + row,
                      .deviation_hi = out.deviation.hi + row,
                      .deviation_lo = out.deviation.lo + row,
                      .deviation_error = out.deviation.e_ref + row};
  const TeamOfEight team;
  const Moments moments = layernorm_row<Real>(like, result, team);
  if (team.begin() != 0) return;
  const double deviation = *result.deviation_hi;
  for (const DeviceReference* reference : {&out.y, &out.mean, &out.deviation}) {
    reference->conditions[kMeanMagnitude][row] = moments.mean_magnitude;
    reference->conditions[kMeanSquare][row] = moments.mean_square;
    reference->conditions[kVariance][row] = moments.variance;
    reference->conditions[kDeviation][row] = deviation;
  }
}

__global__ void magnitudes(const double* x, int64_t n, double* out) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < n) out[i] = std::fabs(x[i]);
}

class OnDevice final : public DeviceOracle {
 public:
  OnDevice(const Case& c, std::span<const DeviceTensor> tensors)
      : case_(c),
        x_(rows_of(tensors[0])),
        residual_(rows_of(tensors[1])),
        gamma_(rows_of(tensors[2])),
        has_bias_(c.word("bias") == "yes"),
        vectors_(static_cast<size_t>(2 * x_.cols) * sizeof(double)) {
    if (has_bias_) beta_ = rows_of(tensors[3]);
    const DType statistics = x_.dtype == DType::f64 ? DType::f64 : DType::f32;
    const std::vector<Per> per_row(kPer, kPer + kRowConditions);
    outputs_.push_back(
        {.tensor = "y", .dtype = x_.dtype, .row_elements = x_.cols, .conditions = {std::begin(kPer), std::end(kPer)}});
    outputs_.push_back({.tensor = "mean", .dtype = statistics, .conditions = per_row});
    outputs_.push_back({.tensor = "rstd", .dtype = statistics, .conditions = per_row});
  }

  int64_t rows() const override { return case_.integer("rows"); }
  const std::vector<DeviceOutput>& outputs() const override { return outputs_; }

  void compute(int64_t first, int64_t rows, std::span<const DeviceReference> out, void* stream) override {
    const cudaStream_t on = stream_of(stream);
    auto* gamma = reinterpret_cast<double*>(vectors_.data());
    double* beta = gamma + x_.cols;
    decode_rows(gamma_, 0, 1, gamma, on);
    if (has_bias_) decode_rows(beta_, 0, 1, beta, on);
    magnitudes<<<static_cast<unsigned>((x_.cols + kThreads - 1) / kThreads), kThreads, 0, on>>>(
        gamma, x_.cols, out[0].conditions[kFactor]);
    require_launched("layernorm_residual oracle");
    if (rows == 0) return;
    decode_rows(x_, first, rows, out[0].hi, on);
    decode_rows(residual_, first, rows, out[0].lo, on);
    const Row like{.gamma = gamma, .beta = has_bias_ ? beta : nullptr, .cols = x_.cols, .epsilon = case_.real("eps")};
    const auto blocks = static_cast<unsigned>((rows * TeamOfEight::kSize + kThreads - 1) / kThreads);
    const auto kernel = x_.dtype == DType::f64 ? compute_rows<DoubleDouble> : compute_rows<double>;
    kernel<<<blocks, kThreads, 0, on>>>(like, rows, Outputs{out[0], out[1], out[2]});
    require_launched("layernorm_residual oracle");
  }

  void bounds(const Contract& contract, size_t output, int64_t rows, const DeviceReference& reference,
              const DeviceBounds& out, void* stream) const override {
    const Output which[] = {Output::y, Output::mean, Output::rstd};
    bounds_on_device(rule_of(case_, contract, which[output]), outputs_[output], rows, reference, out, stream);
  }

 private:
  Case case_;
  DeviceRows x_, residual_, gamma_, beta_{};
  bool has_bias_;
  DeviceMemory vectors_;  // gamma and beta, decoded
  std::vector<DeviceOutput> outputs_;
};

}  // namespace
}  // namespace layernorm

std::unique_ptr<DeviceOracle> make_layernorm_residual_device_oracle(const Case& c,
                                                                    std::span<const DeviceTensor> tensors) {
  return std::make_unique<layernorm::OnDevice>(c, tensors);
}

}  // namespace assay
