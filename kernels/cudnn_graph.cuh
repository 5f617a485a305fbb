// What the cuDNN kernels share: an operation graph made of a call's tensors, an engine for it chosen by cuDNN's
// heuristic while planning, among those that cuDNN notes as deterministic, and described. It speaks to the backend
// interface of cudnn.h; the header-only front end over it would bring a link to the driver, which a machine without a
// GPU has not.
//
// Determinism. cuDNN notes engines whose results differ from run to run (CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC); the
// others give the same bits on every run on the same GPU architecture (cuDNN documentation, "Reproducibility").
//
// To add a cuDNN kernel: kernels/<op>/cudnn.cu whose plan() builds a Graph, and one line in CMakeLists.txt.
#pragma once

#include <assay/kernel.h>
#include <cudnn.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace cudnn_graph {

inline constexpr uint64_t kWorkspaceAlignment = 256;
// The widest access is of 16 bytes, so that a graph says no more of its tensors: another address needs no other engine.
inline constexpr uint64_t kMostAlignment = 16;

inline void require(cudnnStatus_t status, const char* what) {
  if (status == CUDNN_STATUS_SUCCESS) return;
  char message[256] = "";
  cudnnGetLastErrorString(message, sizeof message);
  const std::string detail = message;
  throw assay::Refusal(std::string(what) + ": " + cudnnGetErrorString(status) +
                       (detail.empty() ? "" : " (" + detail.substr(0, detail.find('\n')) + ")"));
}

class Engine;

// Of one device and thread, so that nothing here is locked.
struct Handle {
  Handle() { require(cudnnCreate(&dnn), "cudnnCreate"); }
  ~Handle() {
    engines.clear();
    cudnnDestroy(dnn);
  }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  cudnnHandle_t dnn = nullptr;
  // What was built, by all that it was built from, the oldest first: many engines are compiled at run time, which takes
  // a large part of a second.
  mutable std::deque<std::pair<std::string, std::shared_ptr<const Engine>>> engines;
};
inline constexpr size_t kMostEngines = 64;

inline std::shared_ptr<void> create(assay_device) { return std::make_shared<Handle>(); }

inline std::string version() {
  const size_t v = cudnnGetVersion();
  return "cuDNN " + std::to_string(v / 10000) + "." + std::to_string(v / 100 % 100) + "." + std::to_string(v % 100);
}

inline cudnnDataType_t type_of(const assay_dtype& t) {
  if (t.code == 2 && t.bits == 64) return CUDNN_DATA_DOUBLE;
  if (t.code == 2 && t.bits == 32) return CUDNN_DATA_FLOAT;
  if (t.code == 2 && t.bits == 16) return CUDNN_DATA_HALF;
  if (t.code == 4 && t.bits == 16) return CUDNN_DATA_BFLOAT16;
  throw assay::Refusal("cuDNN has no such dtype");
}

// A backend descriptor: attributes, then finalize().
class Descriptor {
 public:
  explicit Descriptor(cudnnBackendDescriptorType_t type) {
    require(cudnnBackendCreateDescriptor(type, &value_), "cudnnBackendCreateDescriptor");
    note(&type, sizeof type);
  }
  ~Descriptor() {
    if (value_ != nullptr) cudnnBackendDestroyDescriptor(value_);
  }
  Descriptor(Descriptor&& other) noexcept
      : value_(std::exchange(other.value_, nullptr)), content_(std::move(other.content_)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(value_, other.value_);
    std::swap(content_, other.content_);
    return *this;
  }

  cudnnBackendDescriptor_t get() const { return value_; }
  // Its type, and every attribute set by value or as a descriptor: what has the same content does the same.
  const std::string& content() const { return content_; }

  template <class T>
  Descriptor& set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, const std::vector<T>& values) {
    note(&name, sizeof name);
    note(values.data(), values.size() * sizeof(T));
    return refer(name, type, static_cast<int64_t>(values.size()), values.data());
  }
  template <class T>
  Descriptor& set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, T value) {
    static_assert(!std::is_pointer_v<T>, "an address is no content");
    note(&name, sizeof name);
    note(&value, sizeof value);
    return refer(name, type, 1, &value);
  }
  Descriptor& set(cudnnBackendAttributeName_t name, const Descriptor& other) {
    note(&name, sizeof name);
    note(other.content_.data(), other.content_.size());
    return refer(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, other.get());
  }
  // Attributes that are no content: the library's handle, what is made of other descriptors, a call's addresses.
  Descriptor& refer(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t count,
                    const void* values) {
    require(cudnnBackendSetAttribute(value_, name, type, count, values), "cudnnBackendSetAttribute");
    return *this;
  }
  Descriptor& refer(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, void* value) {
    return refer(name, type, 1, static_cast<const void*>(&value));
  }
  Descriptor& finalize(const char* what) {
    require(cudnnBackendFinalize(value_), what);
    return *this;
  }

  // Up to `most` values of an attribute.
  template <class T>
  std::vector<T> values(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t most) const {
    std::vector<T> found(static_cast<size_t>(most));
    int64_t count = 0;
    require(cudnnBackendGetAttribute(value_, name, type, most, &count, found.data()), "cudnnBackendGetAttribute");
    found.resize(static_cast<size_t>(std::min(count, most)));
    return found;
  }

 private:
  // With its length, so that two different contents never read the same.
  void note(const void* bytes, size_t size) {
    content_ += std::to_string(size) + ":";
    content_.append(static_cast<const char*>(bytes), size);
  }

  cudnnBackendDescriptor_t value_ = nullptr;
  std::string content_;
};

// A tensor of the graph. Its number is what run() is given a pointer for.
struct Tensor {
  int64_t id;
  Descriptor descriptor;
};

// A graph with the engine chosen for it: the same for every call of the same graph, none of which it keeps anything of.
class Engine {
 public:
  // Throws Refusal with the library's status and words when no engine supports the graph.
  Engine(const Handle& handle, std::vector<Descriptor> operations) : operations_(std::move(operations)) {
    std::vector<cudnnBackendDescriptor_t> raw;
    for (const Descriptor& o : operations_) raw.push_back(o.get());
    graph_
        .refer(CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, static_cast<int64_t>(raw.size()),
               raw.data())
        .refer(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, handle.dnn)
        .finalize("operation graph");
    heuristic_.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph_)
        .set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, CUDNN_HEUR_MODE_A)
        .finalize("engine heuristic");
    choose(handle);
  }

  uint64_t workspace() const { return workspace_; }

  // NULL or the library's status. `ids` and `pointers` say where each tensor lies.
  const char* run(const Handle& handle, cudaStream_t stream, const std::vector<int64_t>& ids,
                  const std::vector<void*>& pointers, void* workspace) const {
    require(cudnnSetStream(handle.dnn, stream), "cudnnSetStream");
    Descriptor pack(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
    const auto count = static_cast<int64_t>(ids.size());
    pack.refer(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, count, ids.data())
        .refer(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, count, pointers.data())
        .refer(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, workspace)
        .finalize("variant pack");
    const cudnnStatus_t status = cudnnBackendExecute(handle.dnn, plan_->get(), pack.get());
    return status == CUDNN_STATUS_SUCCESS ? nullptr : cudnnGetErrorString(status);
  }

  // "engine 3, knobs 2=4 5=1", and what was passed over.
  void describe(const std::string& prefix, const assay::Describe& emit) const {
    emit(prefix + "algorithm", algorithm_);
    emit(prefix + "notes", notes_);
    emit(prefix + "library_workspace", std::to_string(workspace_));
    if (!passed_over_.empty()) emit(prefix + "passed_over", passed_over_);
  }

 private:
  static constexpr int64_t kCandidates = 16, kMostKnobs = 64;

  // The first engine the heuristic proposes that is deterministic and then makes a plan.
  void choose(const Handle& handle) {
    std::vector<Descriptor> configurations;
    std::vector<cudnnBackendDescriptor_t> raw;
    for (int64_t i = 0; i < kCandidates; ++i) {
      raw.push_back(configurations.emplace_back(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR).get());
    }
    int64_t count = 0;
    require(cudnnBackendGetAttribute(heuristic_.get(), CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                                     kCandidates, &count, raw.data()),
            "heuristic results");
    for (int64_t i = 0; i < std::min(count, kCandidates); ++i) {
      Descriptor& configuration = configurations[static_cast<size_t>(i)];
      read(configuration);
      std::string why;
      if (is_nondeterministic_) {
        why = "nondeterministic";
      } else {
        try {
          plan_.emplace(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
          plan_->set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, configuration)
              .refer(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, handle.dnn)
              .finalize("execution plan");
          const auto bytes = plan_->values<int64_t>(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1);
          workspace_ = static_cast<uint64_t>(bytes.at(0));
          configuration_.emplace(std::move(configuration));
          return;
        } catch (const assay::Refusal& refusal) {
          why = refusal.reason;
        }
      }
      passed_over_ += (passed_over_.empty() ? "" : "; ") + algorithm_ + ": " + why;
    }
    throw assay::Refusal(count == 0 ? "cuDNN's heuristic proposes no engine for the graph"
                                    : "no engine that cuDNN's heuristic proposes makes a plan: " + passed_over_);
  }

  // Fills in what is said of a configuration.
  void read(const Descriptor& configuration) {
    Descriptor engine(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
    cudnnBackendDescriptor_t raw = engine.get();
    int64_t count = 0;
    require(cudnnBackendGetAttribute(configuration.get(), CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1,
                                     &count, &raw),
            "engine");
    const auto index = engine.values<int64_t>(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, 1);
    const auto numerical = engine.values<cudnnBackendNumericalNote_t>(
        CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE, CUDNN_NUMERICAL_NOTE_TYPE_COUNT);
    const auto behavior = engine.values<cudnnBackendBehaviorNote_t>(
        CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE, CUDNN_TYPE_BEHAVIOR_NOTE, CUDNN_BEHAVIOR_NOTE_TYPE_COUNT);
    const auto has = [](const auto& all, auto note) { return std::find(all.begin(), all.end(), note) != all.end(); };
    is_nondeterministic_ = has(numerical, CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC);
    algorithm_ = "cuDNN engine " + std::to_string(index.at(0)) + knobs(configuration);
    notes_ = has(numerical, CUDNN_NUMERICAL_NOTE_TENSOR_CORE) ? "tensor cores" : "no tensor cores";
    if (has(numerical, CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS)) notes_ += ", inputs are converted down";
    if (has(numerical, CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION)) notes_ += ", reduced-precision reduction";
    if (has(behavior, CUDNN_BEHAVIOR_NOTE_RUNTIME_COMPILATION)) notes_ += ", compiled at run time";
  }

  static std::string knobs(const Descriptor& configuration) {
    std::vector<Descriptor> choices;
    std::vector<cudnnBackendDescriptor_t> raw;
    for (int64_t i = 0; i < kMostKnobs; ++i) {
      raw.push_back(choices.emplace_back(CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR).get());
    }
    int64_t count = 0;
    require(cudnnBackendGetAttribute(configuration.get(), CUDNN_ATTR_ENGINECFG_KNOB_CHOICES,
                                     CUDNN_TYPE_BACKEND_DESCRIPTOR, kMostKnobs, &count, raw.data()),
            "knobs");
    std::string text;
    for (int64_t i = 0; i < std::min(count, kMostKnobs); ++i) {
      const Descriptor& choice = choices[static_cast<size_t>(i)];
      const auto type =
          choice.values<cudnnBackendKnobType_t>(CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, CUDNN_TYPE_KNOB_TYPE, 1);
      const auto value = choice.values<int64_t>(CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, CUDNN_TYPE_INT64, 1);
      text += (i == 0 ? ", knobs " : " ") + std::to_string(static_cast<int>(type.at(0))) + "=" +
              std::to_string(value.at(0));
    }
    return text;
  }

  std::vector<Descriptor> operations_;
  Descriptor graph_{CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR}, heuristic_{CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR};
  std::optional<Descriptor> configuration_, plan_;
  uint64_t workspace_ = 0;
  bool is_nondeterministic_ = false;
  std::string algorithm_, notes_, passed_over_;
};

class Graph {
 public:
  using Shape = std::vector<int64_t>;

  // cuDNN wants at least three dimensions; `alignment` in bytes.
  Tensor tensor(cudnnDataType_t type, const Shape& shape, const Shape& strides, uint64_t alignment) {
    return make(type, shape, strides, alignment, false, false);
  }
  // Between two operations: never in memory.
  Tensor virtual_tensor(cudnnDataType_t type, const Shape& shape, const Shape& strides) {
    return make(type, shape, strides, 16, true, false);
  }
  // A number on the host, read at launch.
  Tensor scalar(cudnnDataType_t type, size_t rank) {
    return make(type, Shape(rank, 1), Shape(rank, 1), 16, false, true);
  }

  // y = f(x) or f(x, b), computed in `type`; `b` broadcasts.
  void pointwise(cudnnPointwiseMode_t mode, cudnnDataType_t type, const Tensor& x, const Tensor* b, const Tensor& y) {
    Descriptor how(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
    how.set(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, mode)
        .set(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, type)
        .finalize("pointwise");
    Descriptor operation(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
    operation.set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, how)
        .set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, x.descriptor)
        .set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, y.descriptor);
    if (b != nullptr) operation.set(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, b->descriptor);
    add(std::move(operation), "pointwise operation");
  }

  void add(Descriptor operation, const char* what) {
    operation.finalize(what);
    operations_.push_back(std::move(operation));
  }

  // The handle's engine for a graph of this content, or a new one, which it keeps.
  std::shared_ptr<const Engine> engine(const Handle& handle) && {
    std::string content;
    for (const Descriptor& o : operations_) content += o.content();
    for (const auto& [key, built] : handle.engines) {
      if (key == content) return built;
    }
    auto built = std::make_shared<const Engine>(handle, std::move(operations_));
    if (handle.engines.size() == kMostEngines) handle.engines.pop_front();
    handle.engines.emplace_back(std::move(content), built);
    return built;
  }

 private:
  Tensor make(cudnnDataType_t type, const Shape& shape, const Shape& strides, uint64_t alignment, bool is_virtual,
              bool by_value) {
    Tensor t{++last_id_, Descriptor(CUDNN_BACKEND_TENSOR_DESCRIPTOR)};
    t.descriptor.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, t.id)
        .set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, type)
        .set(CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, shape)
        .set(CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, strides)
        .set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64,
             static_cast<int64_t>(std::min(alignment, kMostAlignment)))
        .set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, is_virtual)
        .set(CUDNN_ATTR_TENSOR_IS_BY_VALUE, CUDNN_TYPE_BOOLEAN, by_value)
        .finalize("tensor");
    return t;
  }

  int64_t last_id_ = 0;
  std::vector<Descriptor> operations_;
};

}  // namespace cudnn_graph
