// A light look at a case, for sweeps over thousands of them: planned, launched once over a poison, verified by
// Freivalds (check/freivalds.h). Of the checks of examination.h it carries out contract, fallback, launch, guards,
// inputs and accuracy; an output left unwritten is no integer, or not the right one.
#pragma once

#include "worker/examination.h"

namespace assay {

// Whatever the kernel does is in the answer; only errors of the harness throw.
Screened screen(const Court& court, const KernelInfo& kernel, const Op& op, const Case& c);

}  // namespace assay
