// Tells the judge where a worker stepped when it dies of an access: which region was missed, on which side, by how
// much. A signal handler has no arguments of its own, so what it needs is kept in one place here, for the worker
// program alone.
#pragma once

#include <cstdint>
#include <vector>

namespace assay {

struct MappedBuffer {
  uint64_t begin = 0;  // address of the first byte of the buffer itself
  uint64_t end = 0;    // one past its last
};

// From now on SIGSEGV and SIGBUS send {"fault": {"region": i, "distance": d, "write": 0|1}} on `socket` before the
// process dies of them as usual. d > 0: bytes beyond the end (1 is the first); d < 0: bytes before the start (-1 is the
// last). Near no buffer but inside `range`, which holds all that any launch was given, is region -2; anywhere else -1.
void report_faults(int socket, MappedBuffer range);
// Whether somebody else handles those signals by now, so that an access to memory that is not there would not be told.
// They are reported again from here on.
bool take_back_faults();
void watch_buffers(const std::vector<MappedBuffer>& buffers);

}  // namespace assay
