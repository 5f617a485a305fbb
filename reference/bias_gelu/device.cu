// The bias_gelu oracle on a CUDA device, element by element.
#include "reference/bias_gelu/oracle.h"
#include "reference/device.cuh"

namespace assay {
namespace gelu {
namespace {

// x lies in out.hi until an element is computed.
template <class Real>
__global__ void compute_elements(Form form, int64_t cols, int64_t elements, const double* bias, Result out) {
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < elements; i += step) {
    bias_gelu_at<Real>(form, out.hi[i], bias[i % cols], i, out);
  }
}

class OnDevice final : public DeviceOracle {
 public:
  OnDevice(const Case& c, std::span<const DeviceTensor> tensors)
      : case_(c),
        x_(rows_of(tensors[0])),
        bias_(rows_of(tensors[1])),
        decoded_bias_(static_cast<size_t>(x_.cols) * sizeof(double)) {
    outputs_.push_back(
        {.tensor = "y", .dtype = x_.dtype, .row_elements = x_.cols, .conditions = {std::begin(kPer), std::end(kPer)}});
  }

  int64_t rows() const override { return case_.integer("rows"); }
  const std::vector<DeviceOutput>& outputs() const override { return outputs_; }

  void compute(int64_t first, int64_t rows, std::span<const DeviceReference> out, void* stream) override {
    const int64_t elements = rows * x_.cols;
    if (elements == 0) return;
    auto* bias = reinterpret_cast<double*>(decoded_bias_.data());
    decode_rows(bias_, 0, 1, bias, stream_of(stream));
    const DeviceReference& r = out[0];
    decode_rows(x_, first, rows, r.hi, stream_of(stream));
    const auto kernel = x_.dtype == DType::f64 ? compute_elements<DoubleDouble> : compute_elements<double>;
    kernel<<<blocks_for(elements), kThreads, 0, stream_of(stream)>>>(
        form_of(case_), x_.cols, elements, bias,
        Result{r.hi, r.lo, r.e_ref, r.conditions[kArgument], r.conditions[kTail], r.conditions[kExponent]});
    require_launched("bias_gelu oracle");
  }

  void bounds(const Contract& contract, size_t, int64_t rows, const DeviceReference& reference, const DeviceBounds& out,
              void* stream) const override {
    bounds_on_device(rule_of(case_, contract), outputs_[0], rows, reference, out, stream);
  }

 private:
  Case case_;
  DeviceRows x_, bias_;
  DeviceMemory decoded_bias_;
  std::vector<DeviceOutput> outputs_;
};

}  // namespace
}  // namespace gelu

std::unique_ptr<DeviceOracle> make_bias_gelu_device_oracle(const Case& c, std::span<const DeviceTensor> tensors) {
  return std::make_unique<gelu::OnDevice>(c, tensors);
}

}  // namespace assay
