#include "worker/fault.h"

#include <signal.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <array>

namespace assay {
namespace {

constexpr std::array kFaults{SIGSEGV, SIGBUS};
constexpr size_t kMostBuffers = 64;
constexpr uint64_t kNear = uint64_t{1} << 20;  // a hole's width

// Read by the handler, written between launches.
struct Watched {
  int socket = -1;
  MappedBuffer range;
  size_t count = 0;
  std::array<MappedBuffer, kMostBuffers> buffers{};
};
Watched watched;

// Decimal without the library: a handler may call next to nothing.
char* append(char* at, const char* text) {
  while (*text != '\0') *at++ = *text++;
  return at;
}
char* append(char* at, int64_t value) {
  if (value < 0) *at++ = '-';
  auto rest = static_cast<uint64_t>(value < 0 ? -value : value);
  char digits[20];
  int n = 0;
  do digits[n++] = static_cast<char>('0' + rest % 10);
  while ((rest /= 10) != 0);
  while (n > 0) *at++ = digits[--n];
  return at;
}

void on_fault(int number, siginfo_t* info, void* context) {
  const auto address = reinterpret_cast<uint64_t>(info->si_addr);
  int64_t region = address >= watched.range.begin && address < watched.range.end ? -2 : -1, distance = 0;
  for (size_t i = 0; i < watched.count; ++i) {
    const MappedBuffer& b = watched.buffers[i];
    const int64_t beyond =
        address >= b.end ? static_cast<int64_t>(address - b.end) + 1 : -static_cast<int64_t>(b.begin - address);
    if (address >= b.begin && address < b.end) continue;
    const auto away = static_cast<uint64_t>(beyond < 0 ? -beyond : beyond);
    if (away > kNear || (region >= 0 && away >= static_cast<uint64_t>(distance < 0 ? -distance : distance))) continue;
    region = static_cast<int64_t>(i);
    distance = beyond;
  }
#if defined(__x86_64__)
  const bool write = static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_ERR] & 2;
#else
  const bool write = false;
  (void)context;
#endif
  char line[128];
  char* at = append(line, "{\"fault\":{\"region\":");
  at = append(at, region);
  at = append(at, ",\"distance\":");
  at = append(at, distance);
  at = append(at, ",\"write\":");
  at = append(at, static_cast<int64_t>(write));
  at = append(at, "}}\n");
  [[maybe_unused]] const ssize_t sent = ::write(watched.socket, line, static_cast<size_t>(at - line));
  ::signal(number, SIG_DFL);
  ::raise(number);
}

void install() {
  static std::array<char, 64 << 10> stack;  // a kernel that overflows its stack has none left for the handler
  stack_t alternate{};
  alternate.ss_sp = stack.data();
  alternate.ss_size = stack.size();
  ::sigaltstack(&alternate, nullptr);
  struct sigaction action {};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  for (const int number : kFaults) ::sigaction(number, &action, nullptr);
}

}  // namespace

void report_faults(int socket, MappedBuffer range) {
  watched.socket = socket;
  watched.range = range;
  install();
}

bool take_back_faults() {
  if (watched.socket < 0) return false;  // not reported yet
  bool is_others = false;
  for (const int number : kFaults) {
    struct sigaction action {};
    ::sigaction(number, nullptr, &action);
    is_others = is_others || action.sa_sigaction != on_fault || (action.sa_flags & SA_ONSTACK) == 0;
  }
  if (is_others) install();
  return is_others;
}

void watch_buffers(const std::vector<MappedBuffer>& buffers) {
  watched.count = std::min(buffers.size(), kMostBuffers);
  std::copy_n(buffers.begin(), watched.count, watched.buffers.begin());
}

}  // namespace assay
