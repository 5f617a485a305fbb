// A laboratory in the memory of the current CUDA device. No CUDA header is needed to include this.
#pragma once

#include <memory>

#include "worker/laboratory.h"

namespace assay {

std::unique_ptr<Laboratory> make_cuda_laboratory();

}  // namespace assay
