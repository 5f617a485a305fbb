// For cli_shrink_hangs_test.cpp. Of seven elements and more it never returns, and of four to six in several columns
// after 5 s: a hang and what is slow, which are told apart by whoever waits long enough.
#include <unistd.h>

#include "base.h"

namespace {
const char* launch(const assay::Call& c) {
  const int64_t n = c.axis("n");
  for (volatile bool is_endless = n >= 7; is_endless;) ::pause();
  if (n >= 4 && c.axis("inner") > 1) ::sleep(5);
  bad::reduce(c);
  return nullptr;
}
}  // namespace
BAD_KERNEL(launch)
