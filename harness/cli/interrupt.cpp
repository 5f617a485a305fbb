#include "cli/interrupt.h"

#include <signal.h>

#include <initializer_list>

namespace assay {
namespace {

volatile sig_atomic_t noted_signal = 0;

void note(int signal) { noted_signal = signal; }

}  // namespace

void note_interrupts() {
  struct sigaction action {};
  action.sa_handler = note;
  for (const int signal : {SIGINT, SIGTERM, SIGPIPE}) ::sigaction(signal, &action, nullptr);
}

int interrupt_signal() { return noted_signal; }

}  // namespace assay
