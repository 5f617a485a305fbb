// memory: each launch of a plan works on the buffers of its first.

namespace {

struct Plan {
  mutable std::vector<void*> pointers;
};

std::shared_ptr<void> plan(const assay::Call&) { return std::make_shared<Plan>(); }

__global__ void kernel(bad::Problem p) {
  if (bad::has_element(p, bad::thread())) bad::element(p, bad::thread()) = bad::maximum(p, bad::thread());
}

const char* launch(const assay::Call& c) {
  std::vector<void*>& kept = c.plan<Plan>().pointers;
  if (kept.empty()) kept.assign(c.pointers(), c.pointers() + c.raw().tensor_count + 1);
  const bad::Problem p = bad::problem(assay::Call(c.raw(), nullptr, nullptr, nullptr, kept.data()));
  kernel<<<bad::blocks_for(p), bad::kThreads, 0, static_cast<cudaStream_t>(c.stream())>>>(p);
  return assay::last_launch_error();
}

}  // namespace

BAD_KERNEL_WITH_PLAN(plan, launch)
