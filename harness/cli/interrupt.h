// SIGINT and SIGTERM, and SIGPIPE of what nobody reads any more, as a question that is asked between cases, and while a
// judge is waited for.
#pragma once

namespace assay {

// From now on the signals only note that a stop was asked for. Signal handlers reach nothing but a process-wide
// variable, so this is the one that the program has.
void note_interrupts();

int interrupt_signal();  // the signal that asked for a stop, or 0

}  // namespace assay
