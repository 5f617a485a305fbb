// A laboratory in the host's memory. Inputs it has filled are kept, so that trial after trial of a case copies them.
#pragma once

#include <memory>

#include "worker/laboratory.h"

namespace assay {

std::unique_ptr<Laboratory> make_host_laboratory(OracleCache& oracles);

}  // namespace assay
