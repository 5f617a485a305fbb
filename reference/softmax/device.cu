// The softmax oracle on a CUDA device: eight threads a row, each row as softmax_row() has it.
#include "reference/device.cuh"
#include "reference/row_team.cuh"
#include "reference/softmax/oracle.h"

namespace assay {
namespace softmax {
namespace {

// x lies in out.hi and the mask in out.lo until a row is computed.
template <class Real>
__global__ void compute_rows(Row like, bool masked, int64_t rows, DeviceReference out) {
  const int64_t row = (int64_t{blockIdx.x} * blockDim.x + threadIdx.x) / TeamOfEight::kSize;
  if (row >= rows) return;
  const int64_t first = row * like.cols;
  like.x = out.hi + first;
  like.mask = masked ? out.lo + first : nullptr;
  const TeamOfEight team;
  const Conditions found =
      softmax_row<Real>(like, out.hi + first, out.lo + first, out.e_ref + first, out.conditions[kArgument] + first,
                        out.conditions[kDistance] + first, team);
  if (team.begin() != 0) return;
  out.conditions[kMeanArgument][row] = found.mean_argument;
  out.conditions[kMeanDistance][row] = found.mean_distance;
  out.conditions[kWorst][row] = found.worst;
  out.conditions[kLargest][row] = found.largest;
  out.conditions[kUnclear][row] = found.unclear;
}

class OnDevice final : public DeviceOracle {
 public:
  OnDevice(const Case& c, std::span<const DeviceTensor> tensors)
      : case_(c), x_(rows_of(tensors[0])), masked_(c.word("mask") == "additive") {
    if (masked_) mask_ = rows_of(tensors[1]);
    outputs_.push_back({.tensor = "y",
                        .dtype = x_.dtype,
                        .row_elements = c.integer("cols"),
                        .conditions = {std::begin(kPer), std::end(kPer)}});
  }

  int64_t rows() const override { return case_.integer("rows"); }
  const std::vector<DeviceOutput>& outputs() const override { return outputs_; }

  void compute(int64_t first, int64_t rows, std::span<const DeviceReference> out, void* stream) override {
    if (rows == 0) return;
    decode_rows(x_, first, rows, out[0].hi, stream_of(stream));
    if (masked_) decode_rows(mask_, first, rows, out[0].lo, stream_of(stream));
    const double scale = case_.real("scale");
    const Row like{.cols = x_.cols, .scale = scale, .scale_roundings = scale_roundings(scale)};
    const auto blocks = static_cast<unsigned>((rows * TeamOfEight::kSize + kThreads - 1) / kThreads);
    const auto kernel = x_.dtype == DType::f64 ? compute_rows<DoubleDouble> : compute_rows<double>;
    kernel<<<blocks, kThreads, 0, stream_of(stream)>>>(like, masked_, rows, out[0]);
    require_launched("softmax oracle");
  }

  void bounds(const Contract& contract, size_t, int64_t rows, const DeviceReference& reference, const DeviceBounds& out,
              void* stream) const override {
    bounds_on_device(rule_of(case_, contract), outputs_[0], rows, reference, out, stream);
  }

 private:
  Case case_;
  DeviceRows x_, mask_{};
  bool masked_;
  std::vector<DeviceOutput> outputs_;
};

}  // namespace
}  // namespace softmax

std::unique_ptr<DeviceOracle> make_softmax_device_oracle(const Case& c, std::span<const DeviceTensor> tensors) {
  return std::make_unique<softmax::OnDevice>(c, tensors);
}

}  // namespace assay
