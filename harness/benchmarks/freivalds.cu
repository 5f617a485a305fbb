// What verifying a large product of integers takes beside the product itself: both on the device, as a kernel of a
// module computes it and as check/freivalds.h verifies it. Each figure is the median of several.
//
//   build/bin/freivalds [--module build/modules/gemm_hopper.so] [--size 16384] [--dtype bf16] [--repeats 5]
//
// Exits with 1 when the kernel's product does not pass or one flipped bit is not found where it is.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>

#include "benchmarks/device_benchmark.cuh"
#include "check/device_freivalds.h"
#include "core/matrix_product.h"
#include "fill/device_fill.h"
#include "load/module.h"
#include "worker/wire.h"

namespace {

using namespace assay;
using namespace assay::benchmarks;

void require_null(const char* error, const char* what) {
  if (error != nullptr) throw Error(std::string(what) + ": " + error);
}

int run(const std::filesystem::path& file, int64_t size, const std::string& dtype, int repeats) {
  const OpRegistry ops = make_op_registry();
  const Op& op = ops.named("gemm");
  const std::string n = std::to_string(size);
  const Case c = ops.parse_case("gemm:m=" + n + ",n=" + n + ",k=" + n + ",tb=t,fill=sparse,dtype=" + dtype);
  const std::vector<TensorSpec> specs = op.tensors(c);
  std::vector<DeviceMemory> memory;
  std::vector<void*> pointers;
  for (const TensorSpec& spec : specs) {
    memory.emplace_back(static_cast<size_t>(spec.span_elements()) * size_of(spec.dtype));
    pointers.push_back(memory.back().data());
    fill_on_device(spec, 1, memory.back().data());
  }

  // ---- the product ----
  const Module module(file);
  const assay_kernel* kernel = nullptr;
  for (const assay_kernel* one : module.kernels()) {
    if (std::string(one->op) == "gemm" && std::string(one->target) == "cuda") kernel = one;
  }
  if (kernel == nullptr) throw UsageError("--module " + file.string() + ": holds no gemm for cuda; give one that does");
  const assay_device device{2, 0};
  const char* error = nullptr;
  void* const state = kernel->create(device, &error);
  if (state == nullptr) throw Error("create: " + std::string(error == nullptr ? "no reason" : error));
  const uint64_t alignment = std::max<uint64_t>(kernel->contract.alignment, 1);
  const WireCall call(call_to_json(c, specs, lay_out(specs, alignment, 0, Place::start, {}), 1), device);
  void* plan = nullptr;
  require_null(kernel->prepare(state, &call.get(), &plan), "prepare");
  const assay_workspace wanted = kernel->workspace(plan);
  const DeviceMemory workspace(wanted.bytes);
  pointers.push_back(workspace.data());
  cudaStream_t stream;
  require_cuda(cudaStreamCreate(&stream), "stream");
  const auto product = [&] {
    if (wanted.init == ASSAY_WORKSPACE_ZERO) {
      require_cuda(cudaMemsetAsync(workspace.data(), 0, workspace.bytes(), stream), "workspace");
    }
    require_null(kernel->launch(plan, stream, pointers.data()), "launch");
  };
  product();
  const double product_ms = wall(repeats, product);

  // ---- and its verification, memory allocated and freed each time ----
  const Contract of_kernel = contract_from(kernel->contract);
  const assay_contract* of_plan = kernel->plan_contract == nullptr ? nullptr : kernel->plan_contract(plan);
  const Contract contract = of_plan == nullptr ? of_kernel : contract_from(*of_plan);
  const auto& product_op = dynamic_cast<const MatrixProductOp&>(op);
  const std::vector<const void*> data(pointers.begin(), pointers.end() - 1);
  const auto verified = [&] {
    Freivalds freivalds(product_op, c, specs, data, 1, make_device_passes());
    return freivalds.judge(pointers[2], contract);
  };
  ErrorSummary summary = verified();
  const bool right_passes = summary.failures == 0 && summary.exact == summary.elements;
  const double verify_ms = wall(repeats, [&] { summary = verified(); });
  Freivalds again(product_op, c, specs, data, 1, make_device_passes());
  const double again_ms = wall(repeats, [&] { again.judge(pointers[2], contract); });

  const int64_t at = size * size / 3;
  std::byte* const element = memory[2].data() + at * static_cast<int64_t>(size_of(specs[2].dtype));
  std::byte old;
  copy_to_host(&old, element, 1);
  const std::byte flipped = old ^ std::byte{1};
  copy_to_device(element, &flipped, 1);
  ErrorSummary found;
  const double locate_ms = wall(repeats, [&] { found = again.judge(pointers[2], contract); });
  const bool is_found = found.failures == 1 && found.worst_index == at;

  std::printf("%s on gemm/%s\n", c.id().c_str(), kernel->name);
  std::printf("  product %.2f ms (%.0f TFLOP/s)\n", product_ms,
              2e-9 * static_cast<double>(size) * static_cast<double>(size) * static_cast<double>(size) / product_ms);
  std::printf("  verified in %.2f ms, %.2f of the product; a further output of the same inputs in %.2f ms\n", verify_ms,
              verify_ms / product_ms, again_ms);
  std::printf("  failures %lld; one bit flipped at %lld: %lld, at %lld, got %g want %g, found and located in %.2f ms\n",
              static_cast<long long>(summary.failures), static_cast<long long>(at),
              static_cast<long long>(found.failures), static_cast<long long>(found.worst_index), found.worst_got,
              found.worst_want, locate_ms);
  kernel->release(state, plan);
  kernel->destroy(state);
  return right_passes && is_found ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  std::filesystem::path module = std::filesystem::path(argv[0]).parent_path() / "../modules/gemm_hopper.so";
  int64_t size = 16384;
  std::string dtype = "bf16";
  int repeats = 5;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::strcmp(argv[i], "--module") == 0) module = argv[i + 1];
    if (std::strcmp(argv[i], "--size") == 0) size = std::atoll(argv[i + 1]);
    if (std::strcmp(argv[i], "--dtype") == 0) dtype = argv[i + 1];
    if (std::strcmp(argv[i], "--repeats") == 0) repeats = std::atoi(argv[i + 1]);
  }
  if (size < 2 || repeats < 1) {
    std::fprintf(stderr, "freivalds: --size is at least 2, --repeats at least 1\n");
    return 4;
  }
  return exit_code_of("freivalds", [&] { return run(module, size, dtype, repeats); });
}
