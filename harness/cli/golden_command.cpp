#include "cli/commands.h"
#include "core/error.h"

namespace assay {

int golden_command(const Options&) { throw UsageError("golden: not in this build"); }

}  // namespace assay
