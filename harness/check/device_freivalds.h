// The passes of check/freivalds.h on the current CUDA device: the same arithmetic (check/residue.h), the same answers.
#pragma once

#include <memory>

#include "check/freivalds.h"

namespace assay {

// Of matrices in device memory. `stream` is a cudaStream_t.
std::unique_ptr<MatrixPasses> make_device_passes(void* stream = nullptr);

}  // namespace assay
