// memory: forgets to launch anything.

namespace {
const char* launch(const assay::Call&) { return nullptr; }
}  // namespace
BAD_KERNEL(launch)
