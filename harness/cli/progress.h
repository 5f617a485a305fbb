// What a person sees while a run goes on: a bar on a terminal, a line a case in a pipe.
#pragma once

#include <cstdio>
#include <memory>

#include "gate/coordinator.h"
#include "gate/summary.h"

namespace assay {

// Whether `stream` is a terminal that takes escape sequences (TERM is not "dumb").
bool is_terminal(std::FILE* stream);

// For `stream`: no colours in a pipe, or when NO_COLOR is set and not empty.
Palette palette_for(std::FILE* stream);

// `total` planned, of which `done` have their record already; 0: nobody knows, cases are drawn for as long as time
// lasts.
std::unique_ptr<RunObserver> make_progress(std::FILE* stream, size_t total, size_t done);

// "5 s", "2 min 05 s", "1 h 10 min".
std::string print_duration(double seconds);

}  // namespace assay
