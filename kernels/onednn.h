// What the oneDNN kernels share: a pipeline of primitives made while planning and run over a call's tensors, strictly
// (no reduced-precision modes) and with every scratchpad in the declared workspace.
//
// To add a oneDNN kernel: kernels/<op>/onednn.cpp whose plan() builds a Pipeline, and one line in CMakeLists.txt.
#ifndef KERNELS_ONEDNN_H
#define KERNELS_ONEDNN_H

#include <assay/kernel.h>
#include <omp.h>

#include <algorithm>
#include <cstdint>
#include <oneapi/dnnl/dnnl.hpp>
#include <string>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

namespace onednn {

using dims = dnnl::memory::dims;
using desc = dnnl::memory::desc;
using type = dnnl::memory::data_type;

// What every oneDNN kernel declares, and what keeps it true: scratchpads of matmul grow with threads times rows, and
// were measured to stay below 150 MiB for m, k <= 8192, n <= 131072 and 32 threads; rows made in the workspace are
// bounded by the domains.
inline constexpr uint64_t kMostWorkspace = uint64_t{256} << 20;
inline constexpr int kMostThreads = 32;

// oneDNN takes the thread count of the calling thread both when it makes a primitive and when it runs it; the two must
// agree. The caller's own count is put back, since other kernels share the process.
class ThreadCount {
 public:
  explicit ThreadCount(int threads) : before_(omp_get_max_threads()) {
    omp_set_num_threads(std::min(threads, kMostThreads));
  }
  ~ThreadCount() { omp_set_num_threads(before_); }
  ThreadCount(const ThreadCount&) = delete;
  ThreadCount& operator=(const ThreadCount&) = delete;

 private:
  int before_;
};

inline type type_of(const assay_dtype& t) {
  if (t.code == 2 && t.bits == 32) return type::f32;
  if (t.code == 2 && t.bits == 16) return type::f16;
  if (t.code == 4 && t.bits == 16) return type::bf16;
  if (t.code == 0 && t.bits == 8) return type::s8;
  throw assay::Refusal("oneDNN has no such dtype");
}

// Shape and strides of a tensor, with its axes in the order given (a transposed operand swaps the last two). An axis of
// length 1 is told as if dense, whatever lies behind it: oneDNN 3.2 keeps primitives by descriptors that it compares
// without such strides, so that a padded row got the implementation, and the bits, of whichever of the two a process
// had asked for first.
inline desc desc_of(const assay::Call& c, const char* name, const std::vector<int>& axes) {
  const assay_dltensor& t = c.tensor(name).dl;
  dims dense(t.strides, t.strides + t.ndim);
  for (int i = t.ndim - 1; i >= 0; --i) {
    if (t.shape[i] == 1) dense[i] = i + 1 < t.ndim ? t.shape[i + 1] * dense[i + 1] : 1;
  }
  dims shape, strides;
  for (const int axis : axes) {
    shape.push_back(t.shape[axis]);
    strides.push_back(dense[axis]);
  }
  return desc(shape, type_of(t.dtype), strides);
}

// A fresh one each time: copies of a dnnl::primitive_attr share their state.
inline dnnl::primitive_attr strict_attributes() {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  attributes.set_fpmath_mode(dnnl::fpmath_mode::strict);
  return attributes;
}

class Pipeline {
 public:
  // Where an argument's memory comes from at launch: a tensor of the call, or bytes into the workspace.
  using Source = std::variant<const char*, uint64_t>;
  struct Argument {
    int id;  // DNNL_ARG_*
    desc layout;
    Source source;
  };

  // Room in the workspace; returns its offset.
  uint64_t reserve(uint64_t bytes) {
    const uint64_t offset = workspace_;
    workspace_ += (bytes + kAlignment - 1) / kAlignment * kAlignment;
    return offset;
  }

  // A scalar the primitive reads at run time (a scale, a zero point), kept by the plan, as a tensor of `rank` ones.
  template <class T>
  void constant(int id, type t, T value, int rank = 1) {
    dnnl::memory memory(desc(dims(rank, 1), t, dims(rank, 1)), engine_);
    *static_cast<T*>(memory.get_data_handle()) = value;
    constants_.emplace_back(id, memory);
  }

  // Appends a primitive; constants set since the last one go to it.
  template <class Primitive, class Descriptor>
  void add(const Descriptor& descriptor, std::vector<Argument> arguments) {
    const desc scratchpad = descriptor.scratchpad_desc();
    if (scratchpad.get_size() > 0) {
      arguments.push_back({DNNL_ARG_SCRATCHPAD, scratchpad, reserve(scratchpad.get_size())});
    }
    algorithm_ += (algorithm_.empty() ? "" : " + ") + std::string(descriptor.impl_info_str());
    steps_.push_back({Primitive(descriptor), std::move(arguments), std::exchange(constants_, {})});
  }

  void run(const assay::Call& c) const {
    dnnl::stream stream(engine_);
    for (const Step& step : steps_) {
      std::unordered_map<int, dnnl::memory> arguments(step.constants.begin(), step.constants.end());
      for (const Argument& a : step.arguments) {
        arguments.emplace(a.id, dnnl::memory(a.layout, engine_, address(c, a.source)));
      }
      step.primitive.execute(stream, arguments);
    }
    stream.wait();
  }

  const dnnl::engine& engine() const { return engine_; }
  const std::string& algorithm() const { return algorithm_; }
  assay_workspace workspace() const { return {workspace_, kAlignment, ASSAY_WORKSPACE_ANY}; }

 private:
  static constexpr uint64_t kAlignment = 64;
  struct Step {
    dnnl::primitive primitive;
    std::vector<Argument> arguments;
    std::vector<std::pair<int, dnnl::memory>> constants;
  };

  static void* address(const assay::Call& c, const Source& source) {
    if (const uint64_t* offset = std::get_if<uint64_t>(&source)) return static_cast<char*>(c.workspace()) + *offset;
    return c.address(std::get<const char*>(source));
  }

  dnnl::engine engine_{dnnl::engine::kind::cpu, 0};
  std::vector<Step> steps_;
  std::vector<std::pair<int, dnnl::memory>> constants_;
  uint64_t workspace_ = 0;
  std::string algorithm_;
};

// An empty pipeline is the plan of a call whose outputs are empty: there is nothing to write, and oneDNN is not asked.
inline const char* launch(const assay::Call& c) {
  const ThreadCount threads(c.threads());
  c.plan<Pipeline>().run(c);
  return nullptr;
}

inline assay_workspace workspace(const assay::Call& c) { return c.plan<Pipeline>().workspace(); }

// Instruction sets are nested bit sets in oneDNN. ONEDNN_MAX_CPU_ISA lowers what the library uses, and so this answer.
inline bool has_isa(dnnl::cpu_isa needed) {
  const auto have = static_cast<unsigned>(dnnl::get_effective_cpu_isa());
  return (have & static_cast<unsigned>(needed)) == static_cast<unsigned>(needed);
}

inline std::string isa_name() {
  switch (dnnl::get_effective_cpu_isa()) {
    case dnnl::cpu_isa::sse41:
      return "sse41";
    case dnnl::cpu_isa::avx:
      return "avx";
    case dnnl::cpu_isa::avx2:
      return "avx2";
    case dnnl::cpu_isa::avx2_vnni:
      return "avx2_vnni";
    case dnnl::cpu_isa::avx2_vnni_2:
      return "avx2_vnni_2";
    case dnnl::cpu_isa::avx512_core:
      return "avx512_core";
    case dnnl::cpu_isa::avx512_core_vnni:
      return "avx512_core_vnni";
    case dnnl::cpu_isa::avx512_core_bf16:
      return "avx512_core_bf16";
    case dnnl::cpu_isa::avx512_core_fp16:
      return "avx512_core_fp16";
    case dnnl::cpu_isa::avx512_core_amx:
      return "avx512_core_amx";
    case dnnl::cpu_isa::avx512_core_amx_fp16:
      return "avx512_core_amx_fp16";
    default:
      return "other";
  }
}

inline void describe(const assay::Call& c, const assay::Describe& emit) {
  const std::string& algorithm = c.plan<Pipeline>().algorithm();
  const dnnl_version_t* v = dnnl_version();
  emit("algorithm", algorithm.empty() ? "nothing to do" : algorithm);
  emit("isa", isa_name());
  emit("library", "oneDNN " + std::to_string(v->major) + "." + std::to_string(v->minor) + "." +
                      std::to_string(v->patch) + " " + v->hash);
}

}  // namespace onednn
#endif
