// A module whose kernels are another module's with a delay built in: what the latency gate is asked to find on a live
// machine (live_gates.py). The file delayed.txt beside it says of which module, and how: its path, then SHARE and
// TIMES, a line each; so many of its launches, drawn at random, take so many times as long. With TIMES 1 it is the same
// module, delays and what they cost included. What cannot be read is no module: assay_module() returns NULL, with a
// line on stderr.
#include <assay/abi.h>
#include <dlfcn.h>

#include <cstdint>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "delay.h"

namespace {

struct Asked {
  std::string module;
  double share = 0, times = 0;
};

struct Plan {
  const assay_kernel* delayed;
  void* own;  // the delayed kernel's
  std::unique_ptr<delayed::Delay> delay;
};

const Plan& plan_of(const void* plan) { return *static_cast<const Plan*>(plan); }

// In [0, 1), from SplitMix64; begins anew in each process, at a number of its own.
double drawn() {
  static uint64_t state = [] {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC_RAW, &now);
    return static_cast<uint64_t>(now.tv_sec) * 1000000000u + static_cast<uint64_t>(now.tv_nsec);
  }();
  uint64_t z = state += 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return static_cast<double>((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

// A module without a path where the file is not as said above.
const Asked& asked() {
  static const Asked read = [] {
    Dl_info here{};
    dladdr(reinterpret_cast<const void*>(&asked), &here);
    const auto file = std::filesystem::path(here.dli_fname).replace_filename("delayed.txt");
    Asked from;
    std::ifstream in(file);
    if (std::getline(in, from.module) && in >> from.share >> from.times && from.share >= 0 && from.times >= 1)
      return from;
    std::fprintf(stderr,
                 "delayed: %s: must have the path of a module, a share and how many times as long, a line each\n",
                 file.c_str());
    return Asked{};
  }();
  return read;
}

const char* launch(const void* plan, void* stream, void* const* pointers) {
  const Plan& of = plan_of(plan);
  const double times = drawn() < asked().share ? asked().times : 1;
  return of.delay->launch(*of.delayed, of.own, stream, pointers, times);
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
  auto delay = delayed::make_delay();
  if (delay == nullptr) {
    originals[kKernel]->release(state, own);
    return "delayed: the device is not to be had";
  }
  *plan = new Plan{originals[kKernel], own, std::move(delay)};
  return nullptr;
}

using Prepare = const char* (*)(void*, const assay_call*, void**);
constexpr Prepare kPrepare[kMostKernels] = {prepare<0>, prepare<1>, prepare<2>, prepare<3>,
                                            prepare<4>, prepare<5>, prepare<6>, prepare<7>};

const assay_module_table* delayed_table() {
  const std::string& path = asked().module;
  if (path.empty()) return nullptr;
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  void* symbol = library == nullptr ? nullptr : dlsym(library, ASSAY_MODULE_SYMBOL);
  const assay_module_table* of = symbol == nullptr ? nullptr : reinterpret_cast<assay_module_function>(symbol)();
  if (of == nullptr || of->kernel_count > kMostKernels) {
    std::fprintf(stderr, "delayed: %s: must be a module of at most %u kernels\n", path.c_str(), kMostKernels);
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
