#include "cli/interrupt.h"

#include <signal.h>

namespace assay {
namespace {

volatile sig_atomic_t noted_signal = 0;

void note(int signal) { noted_signal = signal; }

}  // namespace

void note_interrupts() {
  struct sigaction action {};
  action.sa_handler = note;
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
}

int interrupt_signal() { return noted_signal; }

}  // namespace assay
