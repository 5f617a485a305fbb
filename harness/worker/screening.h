// A light look at a case, for sweeps over thousands of them and for what `assay shrink` draws: planned, launched once
// over a poison, and verified, by Freivalds (check/freivalds.h) or by the oracle; or launched some more times and with
// other threads, and its bytes compared. Of the checks of examination.h it carries out contract, fallback, launch,
// guards, inputs, and accuracy or else same-run and, on a CPU, same-threads; an output left unwritten is no integer, or
// not the right one.
#pragma once

#include <sys/types.h>

#include <string>

#include "worker/examination.h"

namespace assay {

class Screener {
 public:
  // Whatever the kernel does is in the answer; only errors of the harness throw. A wrong answer does not end the
  // worker's process, which takes a GPU long: what fails in it later says which case had failed there.
  Screened screen(const Court& court, const KernelInfo& kernel, const Op& op, const Case& c, Verification by);

 private:
  pid_t process_ = -1;  // in which the last case that failed was launched; -1: it has ended
  std::string failed_;  // that case
};

}  // namespace assay
