// Right where it is judged. Where it is timed, which its environment tells, timed_idle queues nothing, and timed_once
// queues its work at the first launch alone (wrong).

namespace {
const char* launch(const assay::Call& c) {
  const char* spins = std::getenv("GOMP_SPINCOUNT");
  const bool is_timed = spins != nullptr && std::string_view(spins) != "0";
  [[maybe_unused]] static int launches = 0;
  ++launches;
  return !is_timed || WORKS ? bad::launch_right(c) : nullptr;
}
}  // namespace
BAD_KERNEL(launch)
