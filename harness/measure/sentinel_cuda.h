// The sentinel's work on a GPU: queued on a stream, not waited for. No CUDA header is needed to include this.
#pragma once

namespace assay {

// A chain of dependent operations in one block a multiprocessor, about 100 us. Throws Error.
void queue_sentinel_chain(void* stream);

}  // namespace assay
