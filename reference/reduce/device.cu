// The reduce oracle on a CUDA device: a thread an output, in the order of the axis.
#include "reference/device.cuh"
#include "reference/reduce/oracle.h"

namespace assay {
namespace reduce {
namespace {

constexpr int kAhead = 8;  // elements loaded before the first is used

struct Axis {
  const void* data;
  DType dtype;
  int64_t n, inner;  // lengths of the axis that is reduced and of the one after
  int64_t outer_stride, stride, inner_stride;
};

// Calls f(x) for every element behind output `at`, in order.
template <class Function>
__device__ void for_each(const Axis& axis, int64_t at, const Function& f) {
  const int64_t first = at / axis.inner * axis.outer_stride + at % axis.inner * axis.inner_stride;
  int64_t p = 0;
  for (; p + kAhead <= axis.n; p += kAhead) {
    double x[kAhead];
#pragma unroll
    for (int j = 0; j < kAhead; ++j) x[j] = load_aligned(axis.dtype, axis.data, first + (p + j) * axis.stride);
#pragma unroll
    for (int j = 0; j < kAhead; ++j) f(x[j]);
  }
  for (; p < axis.n; ++p) f(load_aligned(axis.dtype, axis.data, first + p * axis.stride));
}

__global__ void sums(Axis axis, int64_t first, int64_t count, DeviceReference out) {
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  const bool compensated = axis.dtype == DType::f64;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step) {
    Sum running;
    for_each(axis, first + i, [&](double x) { running.add(x, compensated); });
    const Element e = running.finish(axis.n, compensated);
    out.hi[i] = e.hi;
    out.lo[i] = e.lo;
    out.e_ref[i] = e.e_ref;
    for (int k = 0; k < kConditions; ++k) out.conditions[k][i] = e.condition[k];
  }
}

__global__ void maxima(Axis axis, int64_t first, int64_t count, DeviceReference out) {
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step) {
    double largest = -kInfinity;
    for_each(axis, first + i, [&](double x) { largest = larger_of(largest, x); });
    out.hi[i] = largest;
    out.lo[i] = out.e_ref[i] = 0;
    for (int k = 0; k < kConditions; ++k) out.conditions[k][i] = 0;
  }
}

class OnDevice final : public DeviceOracle {
 public:
  OnDevice(const Case& c, std::span<const DeviceTensor> tensors) : case_(c), is_sum_(c.word("kind") == "sum") {
    const TensorSpec& x = *tensors[0].spec;
    axis_ = {tensors[0].data, x.dtype, x.shape[1], x.shape[2], x.strides[0], x.strides[1], x.strides[2]};
    outputs_.push_back({.tensor = "y", .dtype = x.dtype, .conditions = {std::begin(kPer), std::end(kPer)}});
  }

  int64_t rows() const override { return case_.integer("outer") * case_.integer("inner"); }
  const std::vector<DeviceOutput>& outputs() const override { return outputs_; }

  void compute(int64_t first, int64_t rows, std::span<const DeviceReference> out, void* stream) override {
    if (rows == 0) return;
    constexpr int kFew = 64;  // small blocks spread few outputs over the device
    const auto kernel = is_sum_ ? sums : maxima;
    kernel<<<blocks_for(rows, kFew), kFew, 0, stream_of(stream)>>>(axis_, first, rows, out[0]);
    require_launched("reduce oracle");
  }

  void bounds(const Contract& contract, size_t, int64_t rows, const DeviceReference& reference, const DeviceBounds& out,
              void* stream) const override {
    bounds_on_device(rule_of(case_, contract), outputs_[0], rows, reference, out, stream);
  }

 private:
  Case case_;
  bool is_sum_;
  Axis axis_{};
  std::vector<DeviceOutput> outputs_;
};

}  // namespace
}  // namespace reduce

std::unique_ptr<DeviceOracle> make_reduce_device_oracle(const Case& c, std::span<const DeviceTensor> tensors) {
  return std::make_unique<reduce::OnDevice>(c, tensors);
}

}  // namespace assay
