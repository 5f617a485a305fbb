// The judge: owns the memory of one device, fills and poisons it, runs oracles and checks, and has workers run the
// kernels. protocol.md beside this file lists the questions it answers.
#pragma once

#include "core/op.h"

namespace assay {

// Serves the coordinator's channel on `socket` until it closes. The first message carries the settings.
void serve_judge(int socket, const OpRegistry& ops);

}  // namespace assay
