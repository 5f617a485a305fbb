// An op's oracle on a CUDA device: the functions of its oracle.h, called there on tensors in device memory, with the
// host's bits. Each lives in reference/<op>/device.cu beside the host's loop; check/device_references.h judges with it.
//
// Results come in chunks of rows, so that memory stays bounded whatever the size of a case: every output has the same
// number of rows, and row r of an output is its logical elements [r, r + 1) * row_elements.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/op.h"

namespace assay {

// A tensor in device memory: element (0,...,0).
struct DeviceTensor {
  const TensorSpec* spec = nullptr;
  const void* data = nullptr;
};

// How many values a condition of Reference::conditions has: one an element of the output, one a row, or one a column.
enum class Per : uint8_t { element, row, column };

// One output tensor, as Reference describes it.
struct DeviceOutput {
  std::string tensor;
  DType dtype = DType::f32;
  int64_t row_elements = 1;
  std::vector<Per> conditions{};
  bool bitwise = false;
};

// Where one output's chunk goes: device memory for the values of its rows, a column's for all columns.
struct DeviceReference {
  static constexpr int kMostConditions = 8;

  double* hi = nullptr;
  double* lo = nullptr;
  double* e_ref = nullptr;
  double* conditions[kMostConditions] = {};
};

struct DeviceBounds {
  double* e_alg = nullptr;
  Evidence* evidence = nullptr;
};

// Of one case and its tensors, which must stay as they are while it is used. `stream` is a cudaStream_t: the functions
// return before the device is done. They throw Error when it refuses.
class DeviceOracle {
 public:
  virtual ~DeviceOracle() = default;

  virtual int64_t rows() const = 0;
  virtual const std::vector<DeviceOutput>& outputs() const = 0;  // in tensor order

  // The references of rows [first, first + rows), one DeviceReference an output.
  virtual void compute(int64_t first, int64_t rows, std::span<const DeviceReference> out, void* stream) = 0;

  // E_alg and evidence of rows of output `output`, from what compute() gave for them.
  virtual void bounds(const Contract& contract, size_t output, int64_t rows, const DeviceReference& reference,
                      const DeviceBounds& out, void* stream) const = 0;
};

// `tensors` as for Op::oracle, in device memory: inputs as filled, inout as before the launch, outputs without data.
// Null for an op without one. Defined by reference/ from the lines of its CMakeLists.txt.
std::unique_ptr<DeviceOracle> make_device_oracle(const Case& c, std::span<const DeviceTensor> tensors);
bool has_device_oracle(std::string_view op);

}  // namespace assay
