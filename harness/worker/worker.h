// The worker: hosts kernels for a judge. It loads modules, maps the regions the judge lays out, and runs what it is
// told; it never sees an expected value. protocol.md beside this file lists the messages.
#pragma once

namespace assay {

// Serves the channel on `socket` until the judge closes it.
void serve_worker(int socket);

}  // namespace assay
