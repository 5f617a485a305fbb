// The part of a bundle (bundle.h) that is the same for every case: types, then what asks the kernel. Not compiled here:
// it is embedded as text, with abi.h and the case in the places of the two lines that begin with //@.
#include <dlfcn.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <span>
#include <string>
#include <vector>

//@ABI@

namespace {

constexpr double kInf = INFINITY;

// Also allowed of an output element, besides the numbers from low to high.
enum { kNan = 1, kInfinite = 2, kAnything = 4, kNotPlusZero = 8, kNotMinusZero = 16 };
struct Allowed {
  double low, high;
  int also;
};

struct Tensor {
  const char* name;
  assay_dtype dtype;
  int32_t role;
  bool is_read;  // false: its content may not matter, so it stays poison
  int32_t ndim;
  int64_t *shape, *strides;                     // elements
  uint64_t byte_offset, bytes, base_alignment;  // of the aligned base, which lies byte_offset before the first element
  uint64_t alignment;                           // of the first element
  uint64_t poison[2];                           // bits of an element before a launch; two patterns
};

// Of one seed, one entry a tensor: bits of the elements in logical order, null where there are none.
struct Round {
  const uint64_t* const* stale;  // other inputs, which come before
  const uint64_t* const* inputs;
  const Allowed* const* allowed;  // what is right for the inputs; null: nobody looks
};

struct Call {
  std::span<const assay_field> fields;
  std::span<Tensor> tensors;
  std::span<const Round> rounds;
};

// Another call that the contract claims. Where it says what is right, its inputs, and so its outputs, are the leading
// elements of the first one's.
struct Related {
  Call call;
  const char* check;
  const char* how;
  uint32_t promise;  // to give the same bytes; 0: none
  // Of each tensor the axis along which its elements are those of the first call in reverse order, -1 where none is.
  std::vector<int> reversed = {};
};

// Where buffers lie: they end at the hole behind them, begin at the one before, or end near it, at no multiple of twice
// their alignment.
enum class Place { end, start, barely_aligned };

//@CASE@

// The kernel is asked in a process of its own, which it may end.
struct Notes {
  bool done;  // it was asked, or cannot be
  bool told;  // what ended it
};
Notes* notes = nullptr;  // shared with that process

// ---- what was found ----

int violations = 0;
std::map<std::string, int> of_check;

void violation(const char* check, const std::string& what) {
  constexpr int kShown = 5;
  ++violations;
  const int seen = ++of_check[check];
  if (seen <= kShown) std::printf("violation: %s: %s\n", check, what.c_str());
  if (seen == kShown + 1) std::printf("violation: %s: more of the same\n", check);
  std::fflush(stdout);
}

[[noreturn]] void cannot(const std::string& why) {
  std::fprintf(stderr, "cannot be asked: %s\n", why.c_str());
  if (notes != nullptr) notes->done = true;
  std::_Exit(2);
}

std::string text_of(const char* text) { return text == nullptr ? "no reason given" : text; }

// ---- memory: each buffer between holes that nothing may touch, or on a device between guard bytes ----

struct Region {
  const char* name = nullptr;
  unsigned char* begin = nullptr;
  uint64_t length = 0;
  uint64_t base = 0, first = 0, bytes = 0;  // of the buffer, from begin
};
std::vector<Region> regions;  // those in use, for the signal handler too

constexpr uint64_t kPage = 4096, kSlack = 256;

#ifdef REPRO_CUDA
void require(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  violation("launch", std::string(what) + ": " + cudaGetErrorString(error));
  notes->told = true;
  std::_Exit(1);  // nothing more can be done on this device
}
unsigned char* take(uint64_t length) {
  void* memory = nullptr;
  if (cudaMalloc(&memory, length) != cudaSuccess) cannot("no memory of the device");
  return static_cast<unsigned char*>(memory);
}
void give_back(const Region& region) { cudaFree(region.begin); }
void put(unsigned char* to, const std::vector<unsigned char>& image) {
  require(cudaMemcpy(to, image.data(), image.size(), cudaMemcpyHostToDevice), "copy in");
}
void get(std::vector<unsigned char>& image, const unsigned char* from) {
  require(cudaMemcpy(image.data(), from, image.size(), cudaMemcpyDeviceToHost), "copy out");
}
cudaStream_t stream = nullptr;
void wait() { require(cudaStreamSynchronize(stream), "the kernel"); }
constexpr assay_device kDevice{2, 0};
#else
unsigned char* take(uint64_t length) {
  void* all = mmap(nullptr, length + 2 * kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (all == MAP_FAILED) cannot("no memory");
  unsigned char* begin = static_cast<unsigned char*>(all) + kPage;
  if (mprotect(begin, length, PROT_READ | PROT_WRITE) != 0) cannot("no memory");
  return begin;
}
void give_back(const Region& region) { munmap(region.begin - kPage, region.length + 2 * kPage); }
void put(unsigned char* to, const std::vector<unsigned char>& image) { std::memcpy(to, image.data(), image.size()); }
void get(std::vector<unsigned char>& image, const unsigned char* from) {
  std::memcpy(image.data(), from, image.size());
}
void* stream = nullptr;
void wait() {}
constexpr assay_device kDevice{1, 0};
#endif

Region place(const char* name, uint64_t bytes, uint64_t byte_offset, uint64_t alignment, Place place) {
  Region r;
  r.name = name;
  r.bytes = bytes;
  const uint64_t step_back = place == Place::barely_aligned ? alignment : 0;
  r.length = (byte_offset + bytes + alignment + step_back + kSlack + kPage - 1) / kPage * kPage;
  r.base = place == Place::start ? 0 : (r.length - bytes - byte_offset) / alignment * alignment;
  if (r.base / alignment % 2 == 0) r.base -= step_back;
#ifdef REPRO_CUDA
  if (place == Place::start)
    r.base = (kSlack + alignment - 1) / alignment * alignment;  // a guard before it, since there is no hole
#endif
  r.first = r.base + byte_offset;
  r.begin = take(r.length);
  if (reinterpret_cast<uintptr_t>(r.begin) % alignment != 0) cannot("memory is not aligned as the contract asks");
  return r;
}

// ---- elements ----

size_t size_of(const Tensor& t) { return t.dtype.bits / 8; }

int64_t elements(const Tensor& t) {
  int64_t n = 1;
  for (int axis = 0; axis < t.ndim; ++axis) n *= t.shape[axis];
  return n;
}

// Of logical row-major element i, in bytes from the first.
uint64_t offset_of(const Tensor& t, int64_t i) {
  int64_t offset = 0;
  for (int axis = t.ndim; axis-- > 0;) {
    offset += (i % t.shape[axis]) * t.strides[axis];
    i /= t.shape[axis];
  }
  return static_cast<uint64_t>(offset) * size_of(t);
}

double decode(const assay_dtype& type, uint64_t bits) {
  if (type.code == 0) {  // signed integers
    return type.bits == 8 ? static_cast<int8_t>(bits) : static_cast<double>(static_cast<int32_t>(bits));
  }
  if (type.code == 1) return static_cast<double>(bits);
  if (type.code == 4) bits <<= 16;  // bfloat: the upper half of a float
  if (type.bits == 64) {
    double value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
  }
  if (type.bits == 32 || type.code == 4) {
    const auto low = static_cast<uint32_t>(bits);
    float value;
    std::memcpy(&value, &low, sizeof value);
    return value;
  }
  const bool half = type.bits == 16;  // else float8 e4m3fn, which has NaN and no infinity
  const int fraction_bits = half ? 10 : 3, exponent_mask = half ? 31 : 15, bias = half ? 15 : 7;
  const int fraction = static_cast<int>(bits & ((1u << fraction_bits) - 1));
  const int exponent = static_cast<int>(bits >> fraction_bits) & exponent_mask;
  const double sign = (bits >> (type.bits - 1)) & 1 ? -1 : 1;
  if (half && exponent == 31) return fraction == 0 ? sign * kInf : NAN;
  if (!half && exponent == 15 && fraction == 7) return NAN;
  const int integer = fraction + (exponent == 0 ? 0 : 1 << fraction_bits);
  return sign * std::ldexp(integer, std::max(exponent, 1) - bias - fraction_bits);
}

bool allows(const Allowed& a, double got) {
  if (a.also & kAnything) return true;
  if (std::isnan(got)) return a.also & kNan;
  if (std::isinf(got) && (a.also & kInfinite)) return true;
  if (!(a.low <= got && got <= a.high)) return false;
  return got != 0 || !(a.also & (std::signbit(got) ? kNotMinusZero : kNotPlusZero));
}

std::string number(double x) {
  char text[40];
  std::snprintf(text, sizeof text, "%.17g", x);
  return text;
}

std::string element(const Tensor& t, int64_t i) { return std::string(t.name) + "[" + std::to_string(i) + "]"; }

std::string in_words(const Allowed& a) {
  std::string text = a.low > a.high ? "" : a.low == a.high ? number(a.low) : number(a.low) + " .. " + number(a.high);
  if (a.also & kNan) text += text.empty() ? "NaN" : ", NaN";
  if (a.also & kInfinite) text += text.empty() ? "infinity" : ", infinity";
  if (a.also & kNotPlusZero) text += ", of zeros -0";
  if (a.also & kNotMinusZero) text += ", of zeros +0";
  return text;
}

// ---- the kernel ----

const assay_kernel* kernel = nullptr;
void* state = nullptr;

// A plan of the case for so many threads, and memory for it.
class Plan {
 public:
  Plan(const Call& of, int threads, Place where) : tensors_of_call_(of.tensors) {
    for (const Tensor& t : of.tensors) {
      tensors_.push_back({t.name,
                          {nullptr, kDevice, t.ndim, t.dtype, t.shape, t.strides, t.byte_offset},
                          t.bytes,
                          t.alignment,
                          t.role});
    }
    assay_call call{};
    call.size = sizeof call;
    call.op = kOp;
    call.fields = of.fields.data();
    call.field_count = static_cast<uint32_t>(of.fields.size());
    call.tensors = tensors_.data();
    call.tensor_count = static_cast<uint32_t>(tensors_.size());
    call.threads = threads;
    call.world_size = 1;
    alarm(kDeadlineSeconds);
    const char* refused = kernel->prepare(state, &call, &plan_);
    alarm(0);
    if (refused != nullptr) {
      refusal_ = *refused == '\0' ? "no reason given" : refused;
      return;
    }
    workspace_ = kernel->workspace(plan_);
    workspace_.alignment = std::max<uint64_t>(workspace_.alignment, 1);
    regions.clear();
    for (const Tensor& t : of.tensors) {
      regions.push_back(place(t.name, t.bytes, t.byte_offset, t.base_alignment, where));
    }
    regions.push_back(place("workspace", workspace_.bytes, 0, workspace_.alignment, where));
  }
  ~Plan() {
    if (!refusal_.empty()) return;
    for (const Region& region : regions) give_back(region);
    regions.clear();
    kernel->release(state, plan_);
  }
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;

  const std::string& refusal() const { return refusal_; }  // empty: accepted
  const assay_workspace& workspace() const { return workspace_; }

  // What the kernel wanted to do and did not; empty: nothing.
  std::string fallback() const {
    std::string wanted;
    kernel->describe(
        plan_,
        [](void* sink, const char* key, const char* value) {
          const bool is_it = key != nullptr && value != nullptr && std::strcmp(key, "fallback") == 0;
          if (is_it) *static_cast<std::string*>(sink) = value;
        },
        &wanted);
    return wanted;
  }

  // Bits of the elements of every output, in logical order, after one launch over a poison, or over what the last one,
  // over the same poison, left.
  using Outputs = std::vector<std::vector<uint64_t>>;
  Outputs launch(const uint64_t* const* inputs, int poison, bool over_last = false) {
    std::vector<std::vector<unsigned char>> before;
    for (size_t i = 0; i < regions.size(); ++i) {
      before.push_back(image(i, inputs, poison));
      if (over_last && !is_filled(i)) get(before[i], regions[i].begin);
      put(regions[i].begin, before[i]);
    }
    std::vector<void*> pointers;
    for (const Region& region : regions) pointers.push_back(region.begin + region.base);
    if (workspace_.bytes == 0) pointers.back() = nullptr;
    alarm(kDeadlineSeconds);
    const char* error = kernel->launch(plan_, stream, pointers.data());
    wait();
    alarm(0);
    if (error != nullptr) violation("launch", error);
    Outputs outputs;
    for (size_t i = 0; i < regions.size(); ++i) {
      std::vector<unsigned char> after = before[i];
      get(after, regions[i].begin);
      look_for_strays(i, before[i], after);
      if (i < tensors_of_call_.size() && tensors_of_call_[i].role != ASSAY_INPUT) outputs.push_back(bits_of(i, after));
    }
    return outputs;
  }

 private:
  // Whether region i holds what the kernel may read.
  bool is_filled(size_t i) const {
    if (i == tensors_of_call_.size()) return workspace_.init == ASSAY_WORKSPACE_ZERO;
    return tensors_of_call_[i].role != ASSAY_OUTPUT && tensors_of_call_[i].is_read;
  }
  size_t at(size_t i, int64_t element) const { return regions[i].first + offset_of(tensors_of_call_[i], element); }

  // Region i before a launch.
  std::vector<unsigned char> image(size_t i, const uint64_t* const* inputs, int poison) const {
    const Region& r = regions[i];
    const bool is_tensor = i < tensors_of_call_.size();
    const size_t size = is_tensor ? size_of(tensors_of_call_[i]) : 1;
    const uint64_t* patterns = is_tensor ? tensors_of_call_[i].poison : kWorkspacePoison;
    unsigned char pattern[8];
    std::memcpy(pattern, &patterns[poison], sizeof pattern);
    std::vector<unsigned char> bytes(r.length);
    for (size_t b = 0; b < bytes.size(); ++b) bytes[b] = pattern[(b + 8 * size - r.first % size) % size];
    if (!is_filled(i)) return bytes;
    if (!is_tensor) {
      std::fill_n(bytes.begin() + static_cast<int64_t>(r.first), r.bytes, 0);
    } else {
      for (int64_t e = 0; e < elements(tensors_of_call_[i]); ++e) {
        const uint64_t bits = inputs[i][e];
        std::memcpy(&bytes[at(i, e)], &bits, size);
      }
    }
    return bytes;
  }

  std::vector<uint64_t> bits_of(size_t i, const std::vector<unsigned char>& bytes) const {
    std::vector<uint64_t> all(static_cast<size_t>(elements(tensors_of_call_[i])));
    for (size_t e = 0; e < all.size(); ++e) {
      std::memcpy(&all[e], &bytes[at(i, static_cast<int64_t>(e))], size_of(tensors_of_call_[i]));
    }
    return all;
  }

  // Bytes that changed and are no element of an output, nor of the workspace.
  void look_for_strays(size_t i, const std::vector<unsigned char>& before,
                       const std::vector<unsigned char>& after) const {
    const Region& r = regions[i];
    std::vector<bool> may_change(r.length, false);
    const bool is_tensor = i < tensors_of_call_.size();
    if (!is_tensor) std::fill_n(may_change.begin() + static_cast<int64_t>(r.first), r.bytes, true);
    for (int64_t e = 0; is_tensor && tensors_of_call_[i].role != ASSAY_INPUT && e < elements(tensors_of_call_[i]);
         ++e) {
      std::fill_n(may_change.begin() + static_cast<int64_t>(at(i, e)), size_of(tensors_of_call_[i]), true);
    }
    for (uint64_t b = 0; b < r.length; ++b) {
      if (may_change[b] || before[b] == after[b]) continue;
      const bool inside = r.first <= b && b < r.first + r.bytes;
      violation(inside && tensors_of_call_[i].role == ASSAY_INPUT ? "inputs" : "guards",
                std::string(r.name) + ": byte " +
                    std::to_string(static_cast<int64_t>(b) - static_cast<int64_t>(r.first)) + " from its first of " +
                    std::to_string(r.bytes) + " was changed");
      return;
    }
  }

  std::span<const Tensor> tensors_of_call_;
  std::vector<assay_tensor> tensors_;
  void* plan_ = nullptr;
  std::string refusal_;
  assay_workspace workspace_{};
};
using Outputs = Plan::Outputs;

// ---- checks ----

template <class Visit>
void for_each_output(const Call& call, Visit&& visit) {
  size_t output = 0;
  for (size_t i = 0; i < call.tensors.size(); ++i) {
    if (call.tensors[i].role != ASSAY_INPUT) visit(call.tensors[i], i, output++);
  }
}

void check_accuracy(const Call& call, const Round& round, const Outputs& got, const std::string& how) {
  for_each_output(call, [&](const Tensor& t, size_t i, size_t output) {
    for (size_t e = 0; e < got[output].size(); ++e) {
      const double value = decode(t.dtype, got[output][e]);
      if (allows(round.allowed[i][e], value)) continue;
      violation("accuracy", element(t, static_cast<int64_t>(e)) + " is " + number(value) + ", right is " +
                                in_words(round.allowed[i][e]) + how);
    }
  });
}

// A byte that holds the pattern of either poison was not written. What is computed from poison, a NaN, may have its
// bytes: that, and what differs where runs need not agree, must hold the patterns whole.
bool all_written(const Outputs& first, const Outputs& second) {
  bool all = true;
  for_each_output(kCall, [&](const Tensor& t, size_t, size_t output) {
    if (t.role == ASSAY_INOUT && t.is_read) return;  // held a value before
    for (size_t e = 0; e < first[output].size(); ++e) {
      const uint64_t a = first[output][e], b = second[output][e];
      const bool nan = std::isnan(decode(t.dtype, a)) && std::isnan(decode(t.dtype, b));
      const size_t at_least = !nan && (kPromises & ASSAY_SAME_RUN) ? 1 : size_of(t);
      size_t unwritten = 0;
      for (size_t byte = 0; byte < size_of(t); ++byte) {
        unwritten += (((a ^ t.poison[0]) | (b ^ t.poison[1])) >> (8 * byte) & 0xff) == 0;
      }
      if (unwritten < at_least) continue;
      violation("unwritten", element(t, static_cast<int64_t>(e)) + " was not written");
      all = false;
    }
  });
  return all;
}

// Where element e is when those along an axis are in reverse order; negative: there is none.
size_t place_of(const Tensor& t, int axis, size_t e) {
  if (axis < 0) return e;
  int64_t inner = 1;
  for (int32_t a = axis + 1; a < t.ndim; ++a) inner *= t.shape[a];
  const auto i = static_cast<int64_t>(e);
  return static_cast<size_t>(i + (t.shape[axis] - 1 - 2 * (i / inner % t.shape[axis])) * inner);
}

// Of the leading elements, which may be all. `reversed` as in Related.
void compare_bytes(const Outputs& base, const Outputs& got, const char* check, const std::string& how,
                   const std::vector<int>& reversed = {}) {
  for_each_output(kCall, [&](const Tensor& t, size_t i, size_t output) {
    for (size_t e = 0; e < got[output].size() && e < base[output].size(); ++e) {
      const uint64_t now = got[output][reversed.empty() ? e : place_of(t, reversed[i], e)];
      if (now == base[output][e]) continue;
      violation(check, element(t, static_cast<int64_t>(e)) + " " + number(decode(t.dtype, base[output][e])) +
                           " became " + number(decode(t.dtype, now)) + " " + how);
      return;
    }
  });
}

// Right in any case; the same bytes where that is promised.
void compare(const Round& round, const Outputs& base, const Outputs& got, uint32_t promise, const char* check,
             const std::string& how) {
  if (got == base) return;
  check_accuracy(kCall, round, got, ", " + how);
  if (kPromises & promise) compare_bytes(base, got, check, how);
}

// The same call at other addresses, or with other threads.
void vary(const Round& round, const Outputs& base, int threads, Place where, uint32_t promise, const char* check,
          const std::string& how) {
  Plan plan(kCall, threads, where);
  if (!plan.refusal().empty())
    return violation("contract", "accepts this case, but not " + how + ": " + plan.refusal());
  for (int repeat = 0; repeat < 5; ++repeat) {
    compare(round, base, plan.launch(round.inputs, repeat % 2), promise, check, how);
  }
}

// A call of its own: looked at for what it touches, and for its bytes where they are promised.
void relate(const Related& related, size_t round, const Outputs& base) {
  Plan plan(related.call, kThreads, kPlace);
  if (!plan.refusal().empty()) {
    return violation("contract", std::string("claims a call ") + related.how + " and refuses it: " + plan.refusal());
  }
  const Round& asked = related.call.rounds[round];
  const Outputs got = plan.launch(asked.inputs, 1);
  if (asked.allowed != nullptr) check_accuracy(related.call, asked, got, std::string(", ") + related.how);
  if (kPromises & related.promise) compare_bytes(base, got, related.check, related.how, related.reversed);
}

// Nothing when there is no answer to compare with.
Outputs ask_for_the_base(const Round& round) {
  Plan plan(kCall, kThreads, kPlace);
  if (!plan.refusal().empty()) {
    if (!kMustRefuse) violation("contract", "claims this case and refuses it: " + plan.refusal());
    return {};
  }
  if (kMustRefuse) {
    violation("contract", "accepts what its contract does not claim");
    return {};
  }
  if (plan.workspace().bytes > kWorkspaceLimit) {
    violation("contract", "asks for " + std::to_string(plan.workspace().bytes) + " bytes of workspace");
    return {};
  }
  const std::string wanted = plan.fallback();
  if (!wanted.empty() && !kMayFallBack) violation("fallback", "gave up " + wanted);
  plan.launch(round.stale, 1);  // an answer that nobody may keep
  const Outputs over_stale = plan.launch(round.inputs, 1, true);
  Outputs base = plan.launch(round.inputs, 0);
  const Outputs again = plan.launch(round.inputs, 1);
  if (!all_written(base, again)) return {};
  check_accuracy(kCall, round, base, "");
  const int before = violations;
  for (int launch = 3; launch <= 11; ++launch) {
    compare(round, base, plan.launch(round.inputs, 0), ASSAY_SAME_RUN, "same-run",
            "in launch " + std::to_string(launch));
  }
  if (violations > before) return base;  // what changes by itself is not told for the poison's work
  compare(round, base, again, ASSAY_SAME_RUN, "same-content", "over another poison");
  compare(round, base, over_stale, ASSAY_SAME_RUN, "same-content", "over the answer to other inputs");
  for (int launch = 12; launch <= 20; ++launch) {
    compare(round, base, plan.launch(round.inputs, 1), ASSAY_SAME_RUN, "same-content",
            "over another poison, launch " + std::to_string(launch));
  }
  return base;
}

void ask(size_t number) {
  const Round& round = kCall.rounds[number];
  const Outputs base = ask_for_the_base(round);
  if (base.empty()) return;
  const Place other = kPlace == Place::end ? Place::start : Place::end;
  vary(round, base, kThreads, other, ASSAY_SAME_ALIGNMENT, "same-address", "at other addresses");
  vary(round, base, kThreads, Place::barely_aligned, ASSAY_SAME_ALIGNMENT, "same-address",
       "at addresses aligned as the contract asks and no better");
  for (const int threads : {1, kThreads + 1, 4 * kThreads}) {
    vary(round, base, threads, kPlace, ASSAY_SAME_THREADS, threads == 4 * kThreads ? "same-crowd" : "same-threads",
         "with threads=" + std::to_string(threads));
  }
  for (const Related& related : kRelated) relate(related, number, base);
}

// ---- processes: a kernel may end its own ----

void on_signal(int signal, siginfo_t* info, void*) {
  char line[200];
  int length = std::snprintf(line, sizeof line, "violation: launch: %s %d",
                             signal == SIGALRM ? "not done in time, signal" : "died by signal", signal);
  const auto* address = static_cast<const unsigned char*>(info->si_addr);
  for (const Region& r : regions) {
    if (signal != SIGSEGV || address < r.begin - kPage || address >= r.begin + r.length + kPage) continue;
    const long long from_end = address - (r.begin + r.first + r.bytes), from_start = (r.begin + r.first) - address;
    length += std::snprintf(
        line + length, sizeof line - static_cast<size_t>(length),
        from_end >= 0 ? ": touched byte %lld beyond the end of %s" : ": touched byte %lld before the start of %s",
        from_end >= 0 ? from_end + 1 : from_start, r.name);
  }
  line[length] = '\n';
  [[maybe_unused]] const ssize_t ignored = write(STDOUT_FILENO, line, static_cast<size_t>(length) + 1);
  notes->told = true;
  _exit(1);
}

void catch_signals() {
  struct sigaction action {};
  action.sa_sigaction = on_signal;
  action.sa_flags = SA_SIGINFO;
  for (const int signal : {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL, SIGALRM}) sigaction(signal, &action, nullptr);
}

const assay_kernel* find_kernel(const char* module) {
  void* library = dlopen(module, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) cannot(text_of(dlerror()));
  const auto table_of = reinterpret_cast<assay_module_function>(dlsym(library, ASSAY_MODULE_SYMBOL));
  if (table_of == nullptr) cannot(std::string(module) + " exports no " ASSAY_MODULE_SYMBOL);
  const assay_module_table* table = table_of();
  if (table->abi_version != ASSAY_ABI_VERSION || table->kernel_size != sizeof(assay_kernel)) {
    cannot(std::string(module) + " was compiled with another version of assay/abi.h");
  }
  for (uint32_t i = 0; i < table->kernel_count; ++i) {
    const assay_kernel* k = table->kernels[i];
    if (std::strcmp(k->op, kOp) == 0 && std::strcmp(k->name, kKernel) == 0) return k;
  }
  cannot(std::string(module) + " has no kernel " + kOp + "/" + kKernel);
}

// The exit status.
int ask_everything(const char* module) {
  catch_signals();
  kernel = find_kernel(module);
#ifdef REPRO_CUDA
  const cudaError_t no_stream = cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  if (no_stream != cudaSuccess) cannot(cudaGetErrorString(no_stream));
#endif
  const char* why = nullptr;
  alarm(kDeadlineSeconds);
  state = kernel->create(kDevice, &why);
  alarm(0);
  if (state == nullptr) cannot("the kernel cannot run here: " + text_of(why));
  for (size_t round = 0; round < kCall.rounds.size(); ++round) ask(round);
  kernel->destroy(state);
  std::printf(violations > 0 ? "%d violations\n" : "no violation\n", violations);
  return violations > 0 ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  std::printf("%s\n", kKernelId);
  if (*kNotShown != '\0') std::printf("%s\n", kNotShown);
  std::fflush(stdout);
  void* shared = mmap(nullptr, sizeof(Notes), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) cannot("no memory");
  notes = static_cast<Notes*>(shared);
  const pid_t child = fork();
  if (child < 0) cannot("no process");
  if (child == 0) {
    const int status = ask_everything(argc > 1 ? argv[1] : kModule);
    std::fflush(stdout);
    notes->done = true;
    _exit(status);
  }
  int ended = 0;
  waitpid(child, &ended, 0);
  if (notes->done) return WEXITSTATUS(ended);
  if (!notes->told) std::printf("violation: launch: the kernel ended the process\n");
  return 1;
}
