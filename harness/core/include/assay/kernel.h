// What a kernel's author includes. C++20, over the C interface in <assay/abi.h>.
//
//   #include <assay/kernel.h>
//   namespace {
//   const char* launch(const assay::Call& c) {
//     auto x = c.in<float>("x");    // checks name, whole dtype and role; throws assay::Refusal otherwise
//     auto y = c.out<float>("y");
//     for (int64_t i = 0; i < x.dim(0); ++i) ...
//     return nullptr;               // or the reason for failing
//   }
//   }
//   ASSAY_KERNEL(softmax, mine, .target = "cpu", .launch = launch,
//                .contract = {.owner = "you@example.org", .domain = "dtype in f32; pad == 0", ...})
//
// A call outside `.contract.domain` is refused for you, with the clause that does not hold. `.refuse` adds reasons
// the domain cannot express (they must not touch what the domain claims). `.plan` makes whatever launch needs and
// must not make itself (library primitives, packed tables): it is called once, in prepare. `.create` makes what all
// calls on a device share (a library's handle): it is called once, before.
#ifndef ASSAY_KERNEL_H
#define ASSAY_KERNEL_H

#include <assay/abi.h>
#include <assay/domain.h>

#ifdef __CUDACC__
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#endif

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace assay {

// Thrown by plan (or by a wrong tensor access) to refuse a call with a reason.
struct Refusal : std::exception {
  explicit Refusal(std::string why) : reason(std::move(why)) {}
  const char* what() const noexcept override { return reason.c_str(); }
  std::string reason;
};

// Storage of 16-bit floats; arithmetic on them is the kernel's business.
struct f16 {
  uint16_t bits;
};
struct bf16 {
  uint16_t bits;
};

// The dtype of a C++ element type; specialise for your own (__half, __nv_bfloat16).
template <class T>
struct dtype_of;
template <>
struct dtype_of<float> {
  static constexpr assay_dtype value{2, 32, 1};
};
template <>
struct dtype_of<double> {
  static constexpr assay_dtype value{2, 64, 1};
};
template <>
struct dtype_of<f16> {
  static constexpr assay_dtype value{2, 16, 1};
};
template <>
struct dtype_of<bf16> {
  static constexpr assay_dtype value{4, 16, 1};
};
template <>
struct dtype_of<int8_t> {
  static constexpr assay_dtype value{0, 8, 1};
};
template <>
struct dtype_of<uint8_t> {
  static constexpr assay_dtype value{1, 8, 1};
};
template <>
struct dtype_of<int32_t> {
  static constexpr assay_dtype value{0, 32, 1};
};

// Typed view of one tensor: data() is the element (0,...,0); dims and strides in elements.
template <class T>
class Tensor {
 public:
  Tensor(T* data, const assay_dltensor& dl) : data_(data), dl_(&dl) {}
  T* data() const { return data_; }
  int rank() const { return dl_->ndim; }
  int64_t dim(int axis) const { return dl_->shape[axis]; }
  int64_t stride(int axis) const { return dl_->strides[axis]; }
  int64_t size() const {
    int64_t n = 1;
    for (int axis = 0; axis < rank(); ++axis) n *= dim(axis);
    return n;
  }

 private:
  T* data_;
  const assay_dltensor* dl_;
};

// Converts to whatever pointer type the launch wants (cudaStream_t).
struct Stream {
  void* handle = nullptr;
  template <class T>
  operator T*() const {
    return static_cast<T*>(handle);
  }
};

// One call as the kernel sees it: in refuse, plan, workspace and describe without data, in launch with it.
class Call {
 public:
  Call(const assay_call& call, const void* made, const void* plan, void* stream, void* const* pointers)
      : call_(&call), made_(made), plan_(plan), stream_(stream), pointers_(pointers) {}

  int64_t axis(std::string_view name) const { return field(name).integer; }
  double number(std::string_view name) const { return field(name).real; }
  std::string_view word(std::string_view name) const { return field(name).text; }
  int threads() const { return call_->threads; }
  int rank() const { return call_->rank; }
  int world_size() const { return call_->world_size; }
  Stream stream() const { return {stream_}; }

  bool has(std::string_view name) const { return find(name) != nullptr; }
  const assay_tensor& tensor(std::string_view name) const {
    if (const assay_tensor* found = find(name)) return *found;
    throw Refusal("no tensor '" + std::string(name) + "'");
  }
  template <class T>
  Tensor<const T> in(std::string_view name) const {
    return view<const T>(name);
  }
  template <class T>
  Tensor<T> out(std::string_view name) const {
    if (tensor(name).role == ASSAY_INPUT) throw Refusal("tensor '" + std::string(name) + "' is an input");
    return view<T>(name);
  }
  // Element (0,...,0) of a tensor of any type; only in launch.
  void* address(std::string_view name) const {
    const assay_tensor& t = tensor(name);
    return static_cast<std::byte*>(pointers_[&t - call_->tensors]) + t.dl.byte_offset;
  }
  void* workspace() const { return pointers_ == nullptr ? nullptr : pointers_[call_->tensor_count]; }

  // What the spec's `create` made.
  template <class Made>
  const Made& made() const {
    return *static_cast<const Made*>(made_);
  }
  template <class Plan>
  const Plan& plan() const {
    return *static_cast<const Plan*>(plan_);
  }
  const assay_call& raw() const { return *call_; }
  void* const* pointers() const { return pointers_; }

 private:
  const assay_field& field(std::string_view name) const {
    for (uint32_t i = 0; i < call_->field_count; ++i) {
      if (name == call_->fields[i].name) return call_->fields[i];
    }
    throw Refusal("no field '" + std::string(name) + "'");
  }
  const assay_tensor* find(std::string_view name) const {
    for (uint32_t i = 0; i < call_->tensor_count; ++i) {
      if (name == call_->tensors[i].name) return &call_->tensors[i];
    }
    return nullptr;
  }
  template <class T>
  Tensor<T> view(std::string_view name) const {
    const assay_tensor& t = tensor(name);
    constexpr assay_dtype want = dtype_of<std::remove_const_t<T>>::value;
    const assay_dtype got = t.dl.dtype;
    if (got.code != want.code || got.bits != want.bits || got.lanes != want.lanes) {
      throw Refusal("tensor '" + std::string(name) + "' has another dtype");
    }
    return Tensor<T>(pointers_ == nullptr ? nullptr : static_cast<T*>(address(name)), t.dl);
  }

  const assay_call* call_;
  const void* made_;
  const void* plan_;
  void* stream_;
  void* const* pointers_;
};

#ifdef __CUDACC__
template <>
struct dtype_of<__half> {
  static constexpr assay_dtype value{2, 16, 1};
};
template <>
struct dtype_of<__nv_bfloat16> {
  static constexpr assay_dtype value{4, 16, 1};
};
template <>
struct dtype_of<__nv_fp8_e4m3> {
  static constexpr assay_dtype value{10, 8, 1};
};

// What a launch returns: NULL, or why the kernel could not be started.
inline const char* last_launch_error() {
  const cudaError_t error = cudaGetLastError();
  return error == cudaSuccess ? nullptr : cudaGetErrorString(error);
}
#endif

using Describe = std::function<void(std::string_view key, std::string_view value)>;

// What ASSAY_KERNEL takes; only launch is required.
struct Spec {
  const char* target = "cpu";
  const char* (*refuse)(const Call&) = nullptr;
  std::shared_ptr<void> (*plan)(const Call&) = nullptr;
  assay_workspace (*workspace)(const Call&) = nullptr;
  const char* (*launch)(const Call&) = nullptr;
  void (*describe)(const Call&, const Describe&) = nullptr;
  // Why this machine cannot run the kernel at all (an instruction set it lacks), or null. Not for single calls.
  const char* (*unavailable)() = nullptr;
  // Makes what the calls on one device share; throws Refusal when the machine cannot run the kernel.
  std::shared_ptr<void> (*create)(assay_device) = nullptr;
  // The contract in force for one call where it is not `contract`: an accumulator that follows the dtype.
  const assay_contract* (*plan_contract)(const Call&) = nullptr;
  assay_contract contract = {};
};

// Why `domain` does not claim `call`, or empty. Throws std::invalid_argument for a domain that does not parse.
inline std::string unclaimed(const char* domain, const assay_call& call) {
  return domain_refusal(domain == nullptr ? "" : domain, [&call](std::string_view name) {
    for (uint32_t i = 0; i < call.field_count; ++i) {
      const assay_field& f = call.fields[i];
      if (name == f.name) return DomainValue{true, f.real, f.text};
    }
    return DomainValue{};
  });
}

// A deep copy of a call, for plans that outlive prepare.
class OwnedCall {
 public:
  explicit OwnedCall(const assay_call& from) : call_(from) {
    strings_.reserve(1 + 2 * from.field_count + from.tensor_count);
    fields_.assign(from.fields, from.fields + from.field_count);
    tensors_.assign(from.tensors, from.tensors + from.tensor_count);
    dims_.reserve(2 * tensors_.size());
    call_.op = keep(from.op);
    for (assay_field& f : fields_) {
      f.name = keep(f.name);
      f.text = keep(f.text);
    }
    for (assay_tensor& t : tensors_) {
      t.name = keep(t.name);
      t.dl.shape = keep(t.dl.shape, t.dl.ndim);
      t.dl.strides = keep(t.dl.strides, t.dl.ndim);
    }
    call_.fields = fields_.data();
    call_.tensors = tensors_.data();
  }
  OwnedCall(const OwnedCall&) = delete;
  OwnedCall& operator=(const OwnedCall&) = delete;
  const assay_call& get() const { return call_; }

 private:
  const char* keep(const char* text) { return strings_.emplace_back(text).c_str(); }
  int64_t* keep(const int64_t* values, int count) { return dims_.emplace_back(values, values + count).data(); }

  assay_call call_;
  std::vector<std::string> strings_;
  std::vector<assay_field> fields_;
  std::vector<assay_tensor> tensors_;
  std::vector<std::vector<int64_t>> dims_;
};

namespace detail {

struct State {
  std::string error;
  std::shared_ptr<void> made;
  std::string not_made;  // what the spec's `create` threw
};

struct Planned {
  Planned(const assay_call& from, std::shared_ptr<void> by_create) : call(from), made(std::move(by_create)) {}
  OwnedCall call;
  std::shared_ptr<void> made;  // outlives the plan
  std::shared_ptr<void> plan;
  mutable std::string error;
  Call view(void* stream = nullptr, void* const* pointers = nullptr) const {
    return Call(call.get(), made.get(), plan.get(), stream, pointers);
  }
};

// What a kernel left out is asked at run time: instrumented for undefined behaviour, GCC takes it for no constant
// expression whether an inline function has an address.
template <const Spec& S>
struct Entry {
  static void* create(assay_device device, const char** error) {
    if (S.unavailable != nullptr) {
      if (const char* reason = S.unavailable()) {
        *error = reason;
        return nullptr;
      }
    }
    auto state = std::make_unique<State>();
    if (S.create != nullptr) {
      try {
        state->made = S.create(device);
      } catch (const std::exception& e) {
        state->not_made = e.what();
      }
    }
    return state.release();
  }
  static void destroy(void* state) { delete static_cast<State*>(state); }

  static const char* prepare(void* state, const assay_call* call, void** plan) {
    std::string& error = static_cast<State*>(state)->error;
    try {
      error = unclaimed(S.contract.domain, *call);
      if (error.empty()) error = static_cast<State*>(state)->not_made;
      if (!error.empty()) return error.c_str();
      auto planned = std::make_unique<Planned>(*call, static_cast<State*>(state)->made);
      if (S.refuse != nullptr) {
        if (const char* reason = S.refuse(planned->view())) return (error = reason).c_str();
      }
      if (S.plan != nullptr) planned->plan = S.plan(planned->view());
      *plan = planned.release();
      return nullptr;
    } catch (const std::exception& e) {
      return (error = e.what()).c_str();
    }
  }
  static void release(void*, void* plan) { delete static_cast<Planned*>(plan); }

  static assay_workspace workspace(const void* plan) {
    if (S.workspace != nullptr) return S.workspace(static_cast<const Planned*>(plan)->view());
    return {};
  }
  static const assay_contract* plan_contract(const void* plan) {
    if (S.plan_contract != nullptr) return S.plan_contract(static_cast<const Planned*>(plan)->view());
    return nullptr;
  }
  static const char* launch(const void* plan, void* stream, void* const* pointers) {
    const auto* planned = static_cast<const Planned*>(plan);
    try {
      return S.launch(planned->view(stream, pointers));
    } catch (const std::exception& e) {
      return (planned->error = e.what()).c_str();
    }
  }
  static void describe(const void* plan, assay_describe_sink emit, void* sink) {
    if (S.describe != nullptr) {
      S.describe(static_cast<const Planned*>(plan)->view(), [emit, sink](std::string_view key, std::string_view value) {
        emit(sink, std::string(key).c_str(), std::string(value).c_str());
      });
    }
  }
  static constexpr assay_kernel table(const char* op, const char* name) {
    return {name,     op,       S.target,   S.contract,     &create, &destroy,
            &prepare, &release, &workspace, &plan_contract, &launch, &describe};
  }
};

}  // namespace detail
}  // namespace assay

// Defines `const assay_kernel* assay_kernel_OP_NAME()`. The build's assay_kernel(op file) puts it in a module.
#define ASSAY_KERNEL(op_, name_, ...)                                                                              \
  namespace {                                                                                                      \
  constexpr ::assay::Spec assay_spec_##op_##_##name_{__VA_ARGS__};                                                 \
  }                                                                                                                \
  extern "C" const assay_kernel* assay_kernel_##op_##_##name_() {                                                  \
    static constexpr assay_kernel entry = ::assay::detail::Entry<assay_spec_##op_##_##name_>::table(#op_, #name_); \
    return &entry;                                                                                                 \
  }

#endif
