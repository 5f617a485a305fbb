// A right answer to the op reduce (kind=max, f32) on a GPU, for the bad modules beside this file to deviate from: each
// does one thing wrong and says in its first line which verdict it has earned. To add one: a file here, its name in
// ../CMakeLists.txt, a row in ../../bad_cuda_rows.h or ../../cuda_sanitizer_test.cpp. They are compiled as one source,
// each in a namespace of its name, which is BAD there: what a file needs of other headers is included here.
#pragma once

#include <assay/kernel.h>

#include <cassert>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <vector>

namespace bad {

struct Problem {
  const float* x;
  int64_t x_stride[3];
  float* y;
  int64_t y_stride[2];
  int64_t outer, n, inner;
};

inline Problem problem(const assay::Call& c) {
  const auto x = c.in<float>("x");
  const auto y = c.out<float>("y");
  return {x.data(), {x.stride(0), x.stride(1), x.stride(2)}, y.data(), {y.stride(0), y.stride(1)}, x.dim(0), x.dim(1),
          x.dim(2)};
}

inline constexpr int kThreads = 64;

// Blocks of kThreads threads, one thread an element of y.
inline unsigned blocks_for(const Problem& p) {
  return static_cast<unsigned>((p.outer * p.inner + kThreads - 1) / kThreads);
}

inline __device__ int64_t thread() { return blockIdx.x * int64_t{blockDim.x} + threadIdx.x; }
inline __device__ bool has_element(const Problem& p, int64_t i) { return i < p.outer * p.inner; }
inline __device__ float& element(const Problem& p, int64_t i) {
  return p.y[i / p.inner * p.y_stride[0] + i % p.inner * p.y_stride[1]];
}
// y[o, i] = max over j of x[o, j, i]; NaN where one is NaN.
inline __device__ float maximum(const Problem& p, int64_t i) {
  const float* x = p.x + i / p.inner * p.x_stride[0] + i % p.inner * p.x_stride[2];
  float best = __int_as_float(0xff800000);  // -inf
  for (int64_t j = 0; j < p.n; ++j) {
    const float value = x[j * p.x_stride[1]];
    if (!(value <= best)) best = value;
    if (isnan(best)) break;
  }
  return best;
}
// Of kind=sum: in blocks of so many terms, the last of which is whole.
inline __device__ float sum(const Problem& p, int64_t i, int64_t block_terms) {
  const float* x = p.x + i / p.inner * p.x_stride[0] + i % p.inner * p.x_stride[2];
  float total = 0, block = 0;
  for (int64_t j = 0; j < p.n; ++j) {
    block += x[j * p.x_stride[1]];
    if ((p.n - 1 - j) % block_terms != 0) continue;
    total += block;
    block = 0;
  }
  return total;
}
// Address one past the last element of the packed output.
inline __device__ float* end_of(const Problem& p) { return p.y + p.outer * p.inner; }

static __global__ void reduce(Problem p) {
  if (has_element(p, thread())) element(p, thread()) = maximum(p, thread());
}

inline const char* launch_right(const assay::Call& c, cudaStream_t stream) {
  const Problem p = problem(c);
  reduce<<<blocks_for(p), kThreads, 0, stream>>>(p);
  return assay::last_launch_error();
}
inline const char* launch_right(const assay::Call& c) { return launch_right(c, c.stream()); }

inline constexpr assay_contract kContract{
    .interface_version = 1,
    .owner = "bad-modules@assay.example",
    .domain = "kind in max; dtype in f32",
    .promises = ASSAY_SAME_RUN | ASSAY_SAME_RESTART | ASSAY_SAME_ALIGNMENT | ASSAY_SAME_STREAM | ASSAY_SAME_LOAD,
    .arithmetic = {.accumulator = ASSAY_ACC_F32, .depth_divisor = 32, .depth_constant = 8}};

constexpr assay_contract promising_also(uint32_t promises) {
  assay_contract contract = kContract;
  contract.promises |= promises;
  return contract;
}

inline constexpr assay_contract kSumContract = [] {
  assay_contract contract = kContract;
  contract.domain = "kind in sum; dtype in f32";
  contract.arithmetic = {.accumulator = ASSAY_ACC_F32};
  return contract;
}();

inline constexpr assay_contract kContractWithWorkspace = [] {
  assay_contract contract = kContract;
  contract.workspace_limit = 4096;
  return contract;
}();

}  // namespace bad

// A launch of one kernel, written where `kernel_` is a __global__ function of a Problem.
#define BAD_LAUNCH(kernel_)                                                                      \
  const char* launch(const assay::Call& c) {                                                     \
    const bad::Problem p = bad::problem(c);                                                      \
    kernel_<<<bad::blocks_for(p), bad::kThreads, 0, static_cast<cudaStream_t>(c.stream())>>>(p); \
    return assay::last_launch_error();                                                           \
  }
// The same of a Problem and the workspace, a pointer to `type_`.
#define BAD_LAUNCH_WITH_WORKSPACE(kernel_, type_)                                             \
  const char* launch(const assay::Call& c) {                                                  \
    const bad::Problem p = bad::problem(c);                                                   \
    kernel_<<<bad::blocks_for(p), bad::kThreads, 0, static_cast<cudaStream_t>(c.stream())>>>( \
        p, static_cast<type_*>(c.workspace()));                                               \
    return assay::last_launch_error();                                                        \
  }
#define BAD_TABLE_OF(name_, ...) ASSAY_KERNEL(reduce, name_, .target = "cuda", __VA_ARGS__)
#define BAD_TABLE(...) BAD_TABLE_OF(BAD, __VA_ARGS__)
#define BAD_KERNEL(launch_) BAD_TABLE(.launch = (launch_), .contract = bad::kContract)
#define BAD_KERNEL_WITH_PLAN(plan_, launch_) BAD_TABLE(.plan = (plan_), .launch = (launch_), .contract = bad::kContract)
#define BAD_KERNEL_WITH_WORKSPACE(workspace_, launch_) \
  BAD_TABLE(.workspace = (workspace_), .launch = (launch_), .contract = bad::kContractWithWorkspace)
