// contract: takes scratch memory of the device in the stream's order, which may_allocate does not allow.

namespace {
const char* launch(const assay::Call& c) {
  void* memory = nullptr;
  if (cudaMallocAsync(&memory, 1000, c.stream()) != cudaSuccess) return "no memory";
  const char* error = bad::launch_right(c);
  cudaFreeAsync(memory, c.stream());
  return error;
}
}  // namespace
BAD_TABLE(
        .launch = launch, .contract = [] {
          assay_contract contract = bad::kContract;
          contract.may_allocate = 1;
          return contract;
        }())
