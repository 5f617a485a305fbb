// What the cuBLASLt kernels share: one strided-batched product of row-major matrices, its algorithm chosen while
// planning and described, its workspace the declared one.
//
// cuBLASLt is column-major: a row-major matrix is the transpose of what it sees. C = op(A) op(B) is therefore asked for
// as C^T = op(B)^T op(A)^T, with the operands exchanged.
//
// Determinism. NVIDIA documents the result of one algorithm with one workspace as the same bits on every run on GPUs of
// one architecture with the same number of multiprocessors, but for split-K that adds in place, which is excluded here,
// as is one that keeps its partial sums in the output's type (cuBLAS documentation, "Results reproducibility",
// cublasLtReductionScheme_t).
//
// To add a cuBLASLt kernel: kernels/<op>/cublaslt.cu whose plan() builds a Matmul, and one line in CMakeLists.txt.
#pragma once

#include <assay/kernel.h>
#include <cublasLt.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>

#include "cublaslt_names.h"  // made from cublasLt.h: tile_name, stages_name, cluster_name

namespace cublaslt {

inline constexpr uint64_t kMostWorkspace = uint64_t{32} << 20;  // NVIDIA's recommendation for Hopper
inline constexpr uint64_t kWorkspaceAlignment = 256;

inline void require(cublasStatus_t status, const char* what) {
  if (status != CUBLAS_STATUS_SUCCESS) {
    throw assay::Refusal(std::string(what) + ": " + cublasLtGetStatusName(status));
  }
}

struct Handle {
  Handle() { require(cublasLtCreate(&lt), "cublasLtCreate"); }
  ~Handle() { cublasLtDestroy(lt); }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  cublasLtHandle_t lt = nullptr;
};

inline std::shared_ptr<void> create(assay_device) { return std::make_shared<Handle>(); }

// A batch of row-major matrices.
struct Matrix {
  cudaDataType_t type;
  int64_t rows, cols, stride, batch_stride;  // elements
  bool transposed = false;
  uint64_t alignment = 16;  // of its first element, bytes
};

struct Problem {
  cublasComputeType_t compute;
  cudaDataType_t scale;
  int64_t batch;
  Matrix a, b, c;
};

// An opaque object of the library and its end.
template <class T, cublasStatus_t (*Destroy)(T)>
class Owned {
 public:
  Owned() = default;
  ~Owned() {
    if (value_ != nullptr) Destroy(value_);
  }
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  T get() const { return value_; }
  T* out() { return &value_; }

 private:
  T value_ = nullptr;
};
using Layout = Owned<cublasLtMatrixLayout_t, cublasLtMatrixLayoutDestroy>;
using Description = Owned<cublasLtMatmulDesc_t, cublasLtMatmulDescDestroy>;
using Preference = Owned<cublasLtMatmulPreference_t, cublasLtMatmulPreferenceDestroy>;

class Matmul {
 public:
  // Throws Refusal with the library's status when it has no algorithm for the problem.
  Matmul(const Handle& handle, const Problem& problem) {
    require(cublasLtMatmulDescCreate(description_.out(), problem.compute, problem.scale), "cublasLtMatmulDescCreate");
    set(CUBLASLT_MATMUL_DESC_TRANSA, problem.b.transposed ? CUBLAS_OP_T : CUBLAS_OP_N);
    set(CUBLASLT_MATMUL_DESC_TRANSB, problem.a.transposed ? CUBLAS_OP_T : CUBLAS_OP_N);
    set(CUBLASLT_MATMUL_DESC_FAST_ACCUM, int8_t{0});  // of 8-bit floats: sums are promoted on their way
    lay_out(a_, problem.a, problem.batch);
    lay_out(b_, problem.b, problem.batch);
    lay_out(c_, problem.c, problem.batch);
    choose(handle, problem);
  }

  uint64_t workspace() const { return chosen_.workspaceSize; }
  int split_k() const { return std::max(1, config<int32_t>(CUBLASLT_ALGO_CONFIG_SPLITK_NUM)); }

  // Whether a matrix unit does the products; otherwise they are fused multiply-adds.
  bool uses_tensor_cores() const { return (implementation() & CUBLASLT_NUMERICAL_IMPL_FLAGS_TENSOR_OP_MASK) != 0; }

  // NULL or the library's status. `alpha` and `beta` point to numbers of the scale type, on the host.
  const char* run(const Handle& handle, cudaStream_t stream, const void* alpha, const void* a, const void* b,
                  const void* beta, void* c, void* workspace) const {
    const cublasStatus_t status =
        cublasLtMatmul(handle.lt, description_.get(), alpha, b, b_.get(), a, a_.get(), beta, c, c_.get(), c, c_.get(),
                       &chosen_.algo, workspace, chosen_.workspaceSize, stream);
    return status == CUBLAS_STATUS_SUCCESS ? nullptr : cublasLtGetStatusName(status);
  }

  void describe(const assay::Describe& emit) const {
    const auto number = [&emit](const char* key, auto value) { emit(key, std::to_string(value)); };
    emit("algorithm", "cublasLt algo " + std::to_string(config<int32_t>(CUBLASLT_ALGO_CONFIG_ID)));
    emit("tile", tile_name(config<uint32_t>(CUBLASLT_ALGO_CONFIG_TILE_ID)));
    emit("stages", stages_name(config<uint32_t>(CUBLASLT_ALGO_CONFIG_STAGES_ID)));
    number("split_k", split_k());
    emit("reduction", reduction_name(config<uint32_t>(CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME)));
    number("swizzle", config<uint32_t>(CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING));
    number("custom_option", config<uint32_t>(CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION));
    number("inner_shape", config<uint16_t>(CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID));
    emit("cluster", cluster_name(config<uint16_t>(CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID)));
    emit("units", uses_tensor_cores() ? "tensor cores" : "fused multiply-add");
    number("library_workspace", chosen_.workspaceSize);
    number("waves", chosen_.wavesCount);
    if (!fallback_.empty()) {
      emit("fallback", fallback_);
      emit("fallback_reason", fallback_reason_);
    }
  }

 private:
  template <class T>
  void set(cublasLtMatmulDescAttributes_t attribute, T value) {
    require(cublasLtMatmulDescSetAttribute(description_.get(), attribute, &value, sizeof value),
            "cublasLtMatmulDescSetAttribute");
  }

  static void lay_out(Layout& layout, const Matrix& m, int64_t batch) {
    require(cublasLtMatrixLayoutCreate(layout.out(), m.type, static_cast<uint64_t>(m.cols),
                                       static_cast<uint64_t>(m.rows), m.stride),
            "cublasLtMatrixLayoutCreate");
    const auto set = [&layout](cublasLtMatrixLayoutAttribute_t attribute, auto value) {
      require(cublasLtMatrixLayoutSetAttribute(layout.get(), attribute, &value, sizeof value),
              "cublasLtMatrixLayoutSetAttribute");
    };
    set(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, static_cast<int32_t>(batch));
    set(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, m.batch_stride);
  }

  // The first algorithm the heuristic proposes that the library then also accepts.
  void choose(const Handle& handle, const Problem& problem) {
    Preference preference;
    require(cublasLtMatmulPreferenceCreate(preference.out()), "cublasLtMatmulPreferenceCreate");
    const auto prefer = [&preference](cublasLtMatmulPreferenceAttributes_t attribute, auto value) {
      require(cublasLtMatmulPreferenceSetAttribute(preference.get(), attribute, &value, sizeof value),
              "cublasLtMatmulPreferenceSetAttribute");
    };
    const auto alignment = [](const Matrix& m) { return static_cast<uint32_t>(std::min<uint64_t>(m.alignment, 256)); };
    prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, kMostWorkspace);
    prefer(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, uint32_t{CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE});
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, alignment(problem.b));
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, alignment(problem.a));
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, alignment(problem.c));
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, alignment(problem.c));

    constexpr int kCandidates = 4;
    cublasLtMatmulHeuristicResult_t found[kCandidates] = {};
    int count = 0;
    require(cublasLtMatmulAlgoGetHeuristic(handle.lt, description_.get(), b_.get(), a_.get(), c_.get(), c_.get(),
                                           preference.get(), kCandidates, found, &count),
            "cublasLtMatmulAlgoGetHeuristic");
    for (int i = 0; i < count; ++i) {
      cublasLtMatmulHeuristicResult_t checked{};
      const cublasStatus_t status = cublasLtMatmulAlgoCheck(handle.lt, description_.get(), b_.get(), a_.get(), c_.get(),
                                                            c_.get(), &found[i].algo, &checked);
      chosen_ = found[i];
      if (status == CUBLAS_STATUS_SUCCESS && checked.workspaceSize <= kMostWorkspace) {
        chosen_.workspaceSize = std::max(found[i].workspaceSize, checked.workspaceSize);
        return;
      }
      if (!fallback_.empty()) continue;
      fallback_ =
          "cublasLt algo " + std::to_string(config<int32_t>(CUBLASLT_ALGO_CONFIG_ID)) + ", the heuristic's first";
      fallback_reason_ = status == CUBLAS_STATUS_SUCCESS ? "it needs more workspace than the contract's limit"
                                                         : cublasLtGetStatusName(status);
    }
    throw assay::Refusal("no algorithm that the heuristic proposes is accepted: " + fallback_reason_);
  }

  template <class T>
  T config(cublasLtMatmulAlgoConfigAttributes_t attribute) const {
    T value{};
    size_t written = 0;
    require(cublasLtMatmulAlgoConfigGetAttribute(&chosen_.algo, attribute, &value, sizeof value, &written),
            "cublasLtMatmulAlgoConfigGetAttribute");
    return value;
  }

  uint64_t implementation() const {
    uint64_t flags = 0;
    size_t written = 0;
    require(cublasLtMatmulAlgoCapGetAttribute(&chosen_.algo, CUBLASLT_ALGO_CAP_NUMERICAL_IMPL_FLAGS, &flags,
                                              sizeof flags, &written),
            "cublasLtMatmulAlgoCapGetAttribute");
    return flags;
  }

  static std::string reduction_name(uint32_t scheme) {
    switch (scheme) {
      case CUBLASLT_REDUCTION_SCHEME_NONE:
        return "none";
      case CUBLASLT_REDUCTION_SCHEME_INPLACE:
        return "in place";
      case CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE:
        return "compute type";
      case CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE:
        return "output type";
      default:
        return std::to_string(scheme);
    }
  }

  Description description_;
  Layout a_, b_, c_;
  cublasLtMatmulHeuristicResult_t chosen_{};
  std::string fallback_, fallback_reason_;
};

inline std::string version() {
  const auto v = cublasLtGetVersion();
  return "cuBLASLt " + std::to_string(v / 10000) + "." + std::to_string(v / 100 % 100) + "." + std::to_string(v % 100);
}

}  // namespace cublaslt
