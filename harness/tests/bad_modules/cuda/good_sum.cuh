// pass: of kind=sum, one term after the other.

namespace {
__global__ void kernel(bad::Problem p) {
  if (bad::has_element(p, bad::thread())) bad::element(p, bad::thread()) = bad::sum(p, bad::thread(), p.n);
}
BAD_LAUNCH(kernel)
}  // namespace
BAD_TABLE(.launch = launch, .contract = bad::kSumContract)
