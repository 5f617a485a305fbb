// A module whose kernels are another module's with a delay built in: what the latency gate is asked to find on a live
// machine (live_gates.py). ASSAY_DELAYED is the path of the other module, ASSAY_DELAY is "SHARE,TIMES": so many of its
// launches, drawn at random, take so many times as long, by waiting after them. On a CPU only: a launch on a GPU ends
// before its work does. What cannot be read is no module: assay_module() returns NULL, with a line on stderr.
#include <assay/abi.h>
#include <dlfcn.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <vector>

namespace {

struct Delay {
  double share = 0, times = 1;
};

struct Plan {
  const assay_kernel* delayed;
  void* own;  // the delayed kernel's
};

const Plan& plan_of(const void* plan) { return *static_cast<const Plan*>(plan); }

double seconds_now() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC_RAW, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

// In [0, 1), from SplitMix64; begins anew in each process, at a number of its own.
double drawn() {
  static uint64_t state = static_cast<uint64_t>(seconds_now() * 1e9);
  uint64_t z = state += 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return static_cast<double>((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

const Delay& delay() {
  static const Delay read = [] {
    Delay asked;
    const char* text = std::getenv("ASSAY_DELAY");
    char* end = nullptr;
    if (text != nullptr) asked.share = std::strtod(text, &end);
    const bool has_both = end != nullptr && end != text && *end == ',';
    const char* times = has_both ? end + 1 : nullptr;
    if (has_both) asked.times = std::strtod(times, &end);
    if (!has_both || end == times || *end != '\0' || !(asked.times >= 1)) {
      std::fprintf(stderr, "delayed: ASSAY_DELAY: must be SHARE,TIMES, such as 0.02,1.5\n");
      std::abort();
    }
    return asked;
  }();
  return read;
}

const char* launch(const void* plan, void* stream, void* const* pointers) {
  const auto& [delayed, own] = plan_of(plan);
  if (drawn() >= delay().share) return delayed->launch(own, stream, pointers);
  const double begin = seconds_now();
  const char* error = delayed->launch(own, stream, pointers);
  const double end = begin + delay().times * (seconds_now() - begin);
  while (seconds_now() < end) continue;
  return error;
}

void release(void* state, void* plan) {
  plan_of(plan).delayed->release(state, plan_of(plan).own);
  delete static_cast<Plan*>(plan);
}

assay_workspace workspace(const void* plan) { return plan_of(plan).delayed->workspace(plan_of(plan).own); }

const assay_contract* plan_contract(const void* plan) {
  const assay_kernel& delayed = *plan_of(plan).delayed;
  return delayed.plan_contract == nullptr ? nullptr : delayed.plan_contract(plan_of(plan).own);
}

void describe(const void* plan, assay_describe_sink emit, void* sink) {
  plan_of(plan).delayed->describe(plan_of(plan).own, emit, sink);
}

constexpr uint32_t kMostKernels = 8;
const assay_kernel* originals[kMostKernels];  // NOLINT: the table of the module that this one stands for

// prepare() is not told which kernel it is of.
template <uint32_t kKernel>
const char* prepare(void* state, const assay_call* call, void** plan) {
  void* own = nullptr;
  if (const char* refusal = originals[kKernel]->prepare(state, call, &own)) return refusal;
  *plan = new Plan{originals[kKernel], own};
  return nullptr;
}

using Prepare = const char* (*)(void*, const assay_call*, void**);
constexpr Prepare kPrepare[kMostKernels] = {prepare<0>, prepare<1>, prepare<2>, prepare<3>,
                                            prepare<4>, prepare<5>, prepare<6>, prepare<7>};

const assay_module_table* delayed_table() {
  const char* path = std::getenv("ASSAY_DELAYED");
  void* library = path == nullptr ? nullptr : dlopen(path, RTLD_NOW | RTLD_LOCAL);
  void* symbol = library == nullptr ? nullptr : dlsym(library, ASSAY_MODULE_SYMBOL);
  const assay_module_table* of = symbol == nullptr ? nullptr : reinterpret_cast<assay_module_function>(symbol)();
  if (of == nullptr || of->kernel_count > kMostKernels) {
    std::fprintf(stderr, "delayed: ASSAY_DELAYED: must be the path of a module of at most %u kernels\n", kMostKernels);
    return nullptr;
  }
  static std::vector<assay_kernel> kernels(of->kernel_count);
  static std::vector<const assay_kernel*> listed;
  for (uint32_t i = 0; i < of->kernel_count; ++i) {
    originals[i] = of->kernels[i];
    kernels[i] = *of->kernels[i];
    kernels[i].prepare = kPrepare[i];
    kernels[i].release = release;
    kernels[i].workspace = workspace;
    kernels[i].plan_contract = plan_contract;
    kernels[i].launch = launch;
    kernels[i].describe = describe;
    listed.push_back(&kernels[i]);
  }
  static assay_module_table table = *of;
  table.kernels = listed.data();
  return &table;
}

}  // namespace

extern "C" ASSAY_EXPORT const assay_module_table* assay_module(void) {
  static const assay_module_table* const table = delayed_table();
  return table;
}
