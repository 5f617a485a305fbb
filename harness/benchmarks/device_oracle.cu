// What verifying a large case on the device costs: an 8192^3 bf16 gemm, every element, from the fill to the summary;
// and the bandwidth of the checks against that of a device copy in the same run. Each figure is the median of several.
//
//   build/bin/device_oracle [--size 8192] [--repeats 5]
//
// Exits with 1 when the right product does not pass or one wrong element is not found.
#include <cuda_bf16.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>

#include "benchmarks/device_benchmark.cuh"
#include "check/device_accuracy.h"
#include "check/device_bytes.h"
#include "check/device_references.h"
#include "core/op.h"
#include "fill/device_fill.h"

namespace {

using namespace assay;
using namespace assay::benchmarks;

constexpr int kTile = 16;

// The kernel under test: bf16 products summed in f32, in the order of k.
__global__ void plain_gemm(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c, int n) {
  __shared__ float a_tile[kTile][kTile], b_tile[kTile][kTile + 1];
  const int row = blockIdx.y * kTile + threadIdx.y, col = blockIdx.x * kTile + threadIdx.x;
  float sum = 0;
  for (int k = 0; k < n; k += kTile) {
    a_tile[threadIdx.y][threadIdx.x] = __bfloat162float(a[static_cast<int64_t>(row) * n + k + threadIdx.x]);
    b_tile[threadIdx.y][threadIdx.x] = __bfloat162float(b[static_cast<int64_t>(k + threadIdx.y) * n + col]);
    __syncthreads();
    for (int j = 0; j < kTile; ++j) sum = fmaf(a_tile[threadIdx.y][j], b_tile[j][threadIdx.x], sum);
    __syncthreads();
  }
  c[static_cast<int64_t>(row) * n + col] = __float2bfloat16(sum);
}

// Median milliseconds between two events.
double on_device(int repeats, const std::function<void()>& work) {
  cudaEvent_t start, end;
  require_cuda(cudaEventCreate(&start), "timing");
  require_cuda(cudaEventCreate(&end), "timing");
  std::vector<double> milliseconds;
  for (int i = 0; i < repeats; ++i) {
    require_cuda(cudaEventRecord(start), "timing");
    work();
    require_cuda(cudaEventRecord(end), "timing");
    require_cuda(cudaEventSynchronize(end), "timing");
    float elapsed;
    require_cuda(cudaEventElapsedTime(&elapsed, start, end), "timing");
    milliseconds.push_back(elapsed);
  }
  return median(milliseconds);
}

int run(int64_t n, int repeats) {
  const OpRegistry ops = make_op_registry();
  const Op& op = ops.named("gemm");
  const std::string size = std::to_string(n);
  const Case c = ops.parse_case("gemm:m=" + size + ",n=" + size + ",k=" + size + ",dtype=bf16");
  const std::vector<TensorSpec> specs = op.tensors(c);
  const size_t bytes = static_cast<size_t>(n * n) * 2;
  const DeviceMemory a(bytes), b(bytes), product(bytes);
  const std::vector<DeviceTensor> inputs{{&specs[0], a.data()}, {&specs[1], b.data()}, {&specs[2], nullptr}};
  const DeviceTensor output{&specs[2], product.data()};
  constexpr size_t kMemory = size_t{16} << 30;
  Contract contract{.interface_version = 1, .owner = "benchmark", .domain = "true"};
  contract.arithmetic = {.accumulator = ASSAY_ACC_F32};

  fill_on_device(specs[0], 1, a.data());
  fill_on_device(specs[1], 1, b.data());
  const dim3 grid(static_cast<unsigned>(n / kTile), static_cast<unsigned>(n / kTile));
  plain_gemm<<<grid, dim3(kTile, kTile)>>>(reinterpret_cast<const __nv_bfloat16*>(a.data()),
                                           reinterpret_cast<const __nv_bfloat16*>(b.data()),
                                           reinterpret_cast<__nv_bfloat16*>(product.data()), static_cast<int>(n));
  require_launched("gemm under test");

  // ---- the whole verification, memory allocated and freed each time ----
  ErrorSummary summary;
  const double fill_ms = wall(repeats, [&] {
    fill_on_device(specs[0], 1, a.data());
    fill_on_device(specs[1], 1, b.data());
  });
  const double all_ms = wall(repeats, [&] {
    fill_on_device(specs[0], 1, a.data());
    fill_on_device(specs[1], 1, b.data());
    const auto references = device_references(c, inputs, kMemory);
    summary = references->judge({&output, 1}, contract)[0];
  });
  std::printf("verification of %s, %lld elements\n", c.id().c_str(), static_cast<long long>(summary.elements));
  std::printf("  failures %lld, rigorous %lld, max q %.3g, rms q %.3g, misrounded %.3g\n",
              static_cast<long long>(summary.failures), static_cast<long long>(summary.rigorous), summary.max_q,
              summary.rms_q, summary.misrounded);
  const bool right_passes = summary.failures == 0 && summary.rigorous == summary.elements;

  const auto references = device_references(c, inputs, kMemory);
  references->judge({&output, 1}, contract);
  const double again_ms = wall(repeats, [&] { references->judge({&output, 1}, contract); });
  const int64_t wrong = n * n / 3;
  std::byte* element = product.data() + wrong * 2;
  uint16_t old;
  copy_to_host(&old, element, sizeof old);
  const uint16_t changed = old ^ 0x40;  // half a binade
  copy_to_device(element, &changed, sizeof changed);
  const ErrorSummary found = references->judge({&output, 1}, contract)[0];
  copy_to_device(element, &old, sizeof old);
  const bool wrong_is_found = found.failures == 1 && found.worst_index == wrong;
  std::printf("  one wrong element: failures %lld, at %lld (it is at %lld)\n", static_cast<long long>(found.failures),
              static_cast<long long>(found.worst_index), static_cast<long long>(wrong));
  std::printf("  fill %.2f ms; fill, oracle, bounds and comparison %.1f ms; bounds and comparison again %.2f ms\n",
              fill_ms, all_ms, again_ms);

  // ---- its parts ----
  const auto oracle = make_device_oracle(c, inputs);
  const int64_t elements = n * n;
  const auto doubles = [&] { return DeviceMemory(static_cast<size_t>(elements) * sizeof(double)); };
  std::vector<DeviceMemory> arrays;
  for (int i = 0; i < 8; ++i) arrays.push_back(doubles());
  const DeviceMemory evidence(static_cast<size_t>(elements));
  const auto array = [&](int i) { return reinterpret_cast<double*>(arrays[static_cast<size_t>(i)].data()); };
  DeviceReference reference{array(0), array(1), array(2), {array(3), array(4), array(5), array(6)}};
  const DeviceBounds bounds{array(7), reinterpret_cast<Evidence*>(evidence.data())};
  const double oracle_ms = on_device(repeats, [&] { oracle->compute(0, n, {&reference, 1}, nullptr); });
  const double products = static_cast<double>(n) * static_cast<double>(n) * static_cast<double>(n);
  const double bounds_ms = on_device(repeats, [&] { oracle->bounds(contract, 0, n, reference, bounds, nullptr); });
  std::printf("  oracle %.1f ms (%.1f TFLOP/s in fp64), bounds %.2f ms\n", oracle_ms, 4e-9 * products / oracle_ms,
              bounds_ms);

  // ---- bandwidth, a pass over more than the caches hold ----
  constexpr int kPasses = 20;
  const size_t copied = static_cast<size_t>(elements) * 2 * sizeof(double);  // 1 GiB each way at 8192
  const DeviceMemory from(copied), to(copied);
  require_cuda(cudaMemset(from.data(), 0, copied), "copy");
  const double copy_ms = on_device(kPasses, [&] {
    require_cuda(cudaMemcpyAsync(to.data(), from.data(), copied, cudaMemcpyDeviceToDevice, nullptr), "copy");
  });
  const double copy = 2 * static_cast<double>(copied) / copy_ms * 1e-6;
  std::printf("bandwidth, GB/s: copy of %zu MiB %.0f\n", copied >> 20, copy);
  const auto line = [&](const char* what, double moved, double ms) {
    const double rate = moved / ms * 1e-6;
    std::printf("  %-44s %7.3f ms  %6.0f  %5.1f %% of copy\n", what, ms, rate, 100 * rate / copy);
  };
  const double judged = static_cast<double>(elements) * (4 * sizeof(double) + 1 + 2);
  DeviceAccuracy accuracy(specs[2], oracle->outputs()[0], contract, nullptr);
  accuracy.judge(product.data(), 0, elements, reference, bounds);
  std::vector<DeviceAccuracy> judges;
  for (int i = 0; i < kPasses; ++i) judges.emplace_back(specs[2], oracle->outputs()[0], contract, nullptr);
  auto next = judges.begin();
  line("judge_accuracy (35 bytes an element)", judged,
       on_device(kPasses, [&] { (next++)->judge(product.data(), 0, elements, reference, bounds); }));
  const std::vector<int64_t> shape{static_cast<int64_t>(copied) / 2};
  const TensorSpec large{.name = "y", .dtype = DType::bf16, .shape = shape, .strides = {1}};
  require_cuda(cudaMemset(to.data(), 0, copied), "copy");
  line("compare_bytes", 2 * static_cast<double>(copied),
       on_device(kPasses, [&] { compare_bytes_on_device(large, from.data(), to.data()); }));
  line("find_unwritten", 2 * static_cast<double>(copied),
       on_device(kPasses, [&] { find_unwritten_on_device(large, from.data(), to.data(), true); }));
  line("fill_poison", static_cast<double>(copied),
       on_device(kPasses, [&] { fill_poison_on_device(to.data(), copied, 0, DType::bf16, Poison::first); }));
  line("fill, normal bf16", static_cast<double>(bytes),
       on_device(kPasses, [&] { fill_on_device(specs[0], 1, a.data()); }));
  return right_passes && wrong_is_found ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  int64_t size = 8192;
  int repeats = 5;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::strcmp(argv[i], "--size") == 0) size = std::atoll(argv[i + 1]);
    if (std::strcmp(argv[i], "--repeats") == 0) repeats = std::atoi(argv[i + 1]);
  }
  if (size < 64 || size % kTile != 0 || repeats < 1) {
    std::fprintf(stderr, "device_oracle: --size is a multiple of 16 from 64, --repeats at least 1\n");
    return 4;
  }
  return exit_code_of("device_oracle", [&] { return run(size, repeats); });
}
