// nondeterministic: another sign of zero in the row that comes first.

namespace {
__global__ void kernel(bad::Problem p) {
  if (!bad::has_element(p, bad::thread())) return;
  const float best = bad::maximum(p, bad::thread());
  bad::element(p, bad::thread()) = best == 0 && bad::thread() == 0 ? -best : best;
}
BAD_LAUNCH(kernel)
}  // namespace
BAD_TABLE(.launch = launch, .contract = bad::promising_also(ASSAY_SAME_ORDER))
