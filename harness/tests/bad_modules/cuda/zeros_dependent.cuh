// nondeterministic: sums end with a whole block, so that further terms, zeros too, move the ends of all blocks.

namespace {
__global__ void kernel(bad::Problem p) {
  constexpr int64_t kBlock = 8;
  if (bad::has_element(p, bad::thread())) bad::element(p, bad::thread()) = bad::sum(p, bad::thread(), kBlock);
}
BAD_LAUNCH(kernel)

constexpr assay_contract kContract = [] {
  assay_contract contract = bad::kSumContract;
  contract.promises |= ASSAY_SAME_ZEROS;
  return contract;
}();
}  // namespace
BAD_TABLE(.launch = launch, .contract = kContract)
