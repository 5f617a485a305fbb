// pass: nothing is wrong with it.

namespace {
const char* launch(const assay::Call& c) { return bad::launch_right(c); }
}  // namespace
BAD_KERNEL(launch)
