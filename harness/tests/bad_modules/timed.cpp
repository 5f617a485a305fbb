// Right where it is judged. Where it is timed, which its environment tells, each of these is something else:
// timed_idle does nothing (wrong), timed_once works at the first launch alone (wrong), timed_negates gives other bytes
// (nondeterministic), timed_stray writes beyond the output (memory), timed_leaves starts a process that outlives it
// (memory), timed_dies and timed_refuses end (crashed).
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <string_view>

#include "base.h"
namespace {
const char* launch(const assay::Call& c) {
  const char* spins = std::getenv("GOMP_SPINCOUNT");
  const bool is_timed = spins != nullptr && std::string_view(spins) != "0";
  [[maybe_unused]] static int launches = 0;
  ++launches;
  if (!is_timed || WORKS) bad::reduce(c);
  if (!is_timed) return nullptr;
#ifdef DIES
  raise(SIGSEGV);
#endif
#ifdef REFUSES
  return "not when somebody looks at the clock";
#endif
#ifdef NEGATES
  bad::negate_first_zero(c);
#endif
#ifdef LEAVES
  if (launches == 1 && ::fork() == 0) {
    ::setsid();
    if (::fork() == 0) ::sleep(600);
    ::_exit(0);
  }
#endif
#ifdef STRAYS
  *(c.out<float>("y").data() - 1) = 1;
#endif
  return nullptr;
}
}  // namespace
BAD_KERNEL(launch)
