#include "worker/laboratory.h"

#include "worker/laboratory_host.h"
#ifdef ASSAY_CUDA
#include "core/device_oracle.h"
#include "worker/laboratory_cuda.h"
#endif

namespace assay {

std::unique_ptr<Laboratory> make_laboratory([[maybe_unused]] const JudgeSettings& settings, OracleCache& oracles,
                                            [[maybe_unused]] const Op& op, [[maybe_unused]] const Case& c) {
#ifdef ASSAY_CUDA
  // Under a sanitizer the judge's memory is the host's.
  if (settings.device == Device::cuda && !settings.sanitizer && has_device_oracle(op.name())) {
    int64_t elements = 0;
    for (const TensorSpec& spec : op.tensors(c)) elements += spec.span_elements();
    if (elements >= settings.elements_on_device) return make_cuda_laboratory();
  }
#endif
  return make_host_laboratory(oracles);
}

}  // namespace assay
