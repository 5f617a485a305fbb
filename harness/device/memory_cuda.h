// A judge's memory on a GPU, and whether there is one. No CUDA header is needed to include this.
#pragma once

#include <memory>
#include <string>

#include "device/memory.h"

namespace assay {

std::string why_cuda_is_unusable();  // empty: it is usable

// Each region is an allocation of its own: the driver maps only whole ones.
std::unique_ptr<Memory> make_cuda_memory();

}  // namespace assay
