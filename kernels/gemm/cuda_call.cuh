// What the CUDA products read from a call: sizes, scalars, and matrices by strides. Shared by gemm and gemm_int8.
#ifndef ASSAY_KERNELS_GEMM_CUDA_CALL_CUH
#define ASSAY_KERNELS_GEMM_CUDA_CALL_CUH

#include <assay/kernel.h>

#include <algorithm>
#include <cstdint>
#include <string>

namespace assay::cuda_gemm {

inline constexpr const char* kOwner = "kernels@assay.example";

// One thread block computes a tile of C over the whole of K, always in the same order and without atomics, so that
// nothing but the products' own operands reaches an element's bits.
inline constexpr uint32_t kPromises = ASSAY_SAME_RUN | ASSAY_SAME_RESTART | ASSAY_SAME_THREADS | ASSAY_SAME_ALIGNMENT |
                                      ASSAY_SAME_BATCH | ASSAY_SAME_PADDING | ASSAY_SAME_STREAM | ASSAY_SAME_LOAD |
                                      ASSAY_SAME_ORDER;

// Bytes that the contracts ask of every base: those of a whole vector or bulk copy. With less (`offset`) the kernels
// take their slower path to the same bits.
inline constexpr uint32_t kAlignment = 16;

// Element (i, j) of matrix z lies at z batch_stride + i row_stride + j column_stride; for an operand i runs along M or
// N and j along K.
struct Matrix {
  int64_t row_stride = 0, column_stride = 1, batch_stride = 0;  // elements
};

struct Problem {
  int64_t m = 0, n = 0, k = 0, batch = 1;
  Matrix a, b, c;
  double alpha = 1, beta = 0;
  bool is_empty() const { return m == 0 || n == 0 || batch == 0; }
  int64_t depth() const { return alpha == 0 ? 0 : k; }  // products that are read
};

inline Matrix matrix(const Call& call, const char* name, bool transposed) {
  const assay_dltensor& dl = call.tensor(name).dl;
  const int last = dl.ndim - 1;
  if (last < 1) throw Refusal(std::string("tensor '") + name + "' is not a matrix");
  if (dl.shape[last] > 1 && dl.strides[last] != 1) {
    throw Refusal(std::string("tensor '") + name + "' has columns that are not contiguous");
  }
  const int64_t rows = dl.strides[last - 1];
  return {transposed ? 1 : rows, transposed ? rows : 1, last > 1 ? dl.strides[0] : 0};
}

inline Problem problem(const Call& call) {
  Problem p;
  p.m = call.axis("m");
  p.n = call.axis("n");
  p.k = call.axis("k");
  p.batch = call.axis("batch");
  p.alpha = call.number("alpha");
  p.beta = call.number("beta");
  p.a = matrix(call, "a", call.word("ta") == "t");
  p.b = matrix(call, "b", call.word("tb") == "n");
  p.c = matrix(call, "c", false);
  return p;
}

// Where a tensor's element (0, ..., 0) lies; in launch alone.
inline std::byte* address(const Call& call, const char* name) {
  const assay_tensor& tensor = call.tensor(name);
  return static_cast<std::byte*>(call.pointers()[&tensor - call.raw().tensors]) + tensor.dl.byte_offset;
}

// Null, or `reason` where the device's compute capability is not within least.0 and most.9.
inline const char* needs_compute_capability(int least, int most, const char* reason) {
  int device = 0, found = 0;
  const bool known = cudaGetDevice(&device) == cudaSuccess &&
                     cudaDeviceGetAttribute(&found, cudaDevAttrComputeCapabilityMajor, device) == cudaSuccess;
  if (!known) return "no CUDA device";
  return least <= found && found <= most ? nullptr : reason;
}

inline int multiprocessors() {
  int device = 0, count = 1;
  if (cudaGetDevice(&device) != cudaSuccess ||
      cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device) != cudaSuccess) {
    throw Refusal("cannot read the device's number of multiprocessors");
  }
  return count;
}

constexpr int64_t ceil_div(int64_t value, int64_t by) { return (value + by - 1) / by; }
constexpr int64_t round_up(int64_t value, int64_t to) { return ceil_div(value, to) * to; }

}  // namespace assay::cuda_gemm
#endif
