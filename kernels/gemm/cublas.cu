// gemm by cuBLAS: cublasGemmStridedBatchedEx, which chooses its kernel by itself and does not say which.
//
// Determinism. NVIDIA documents the same bits on every run of one version on GPUs of one architecture with the same
// number of multiprocessors while one stream is active, and with several when each has a workspace of its own given by
// cublasSetWorkspace, as here (cuBLAS documentation, "Results reproducibility").
#include <cublas_v2.h>

#include "gemm/cublas_gemm.cuh"

namespace {

using cublas_gemm::Scalar;

constexpr uint64_t kWorkspace = uint64_t{32} << 20;  // NVIDIA's recommendation for Hopper

struct Handle {
  Handle() {
    require(cublasCreate(&blas), "cublasCreate");
    // f32 without TF32; partial sums of 16-bit products are not rounded to 16 bits.
    const auto strict =
        static_cast<cublasMath_t>(CUBLAS_DEFAULT_MATH | CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION);
    require(cublasSetMathMode(blas, strict), "cublasSetMathMode");
    require(cublasSetAtomicsMode(blas, CUBLAS_ATOMICS_NOT_ALLOWED), "cublasSetAtomicsMode");
  }
  ~Handle() { cublasDestroy(blas); }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  static void require(cublasStatus_t status, const char* what) {
    if (status != CUBLAS_STATUS_SUCCESS) throw assay::Refusal(std::string(what) + ": " + cublasGetStatusName(status));
  }
  cublasHandle_t blas = nullptr;
};

std::shared_ptr<void> create(assay_device) { return std::make_shared<Handle>(); }

assay_workspace workspace(const assay::Call&) { return {kWorkspace, 256, ASSAY_WORKSPACE_ANY}; }

// A row-major matrix is the transpose of what cuBLAS sees: C^T = op(B)^T op(A)^T.
const char* launch(const assay::Call& c) {
  if (cublas_gemm::is_empty(c)) return nullptr;
  const cublasHandle_t blas = c.made<Handle>().blas;
  const bool f64 = c.word("dtype") == "f64";
  const Scalar alpha(c.number("alpha")), beta(c.number("beta"));
  const auto operation = [&c](const char* field) { return c.word(field) == "t" ? CUBLAS_OP_T : CUBLAS_OP_N; };
  const assay_dltensor &a = c.tensor("a").dl, &b = c.tensor("b").dl, &result = c.tensor("c").dl;
  const cudaDataType_t type = cublas_gemm::type_of(result.dtype);

  cublasStatus_t status = cublasSetStream(blas, c.stream());  // gives the handle its own workspace back
  if (status == CUBLAS_STATUS_SUCCESS) status = cublasSetWorkspace(blas, c.workspace(), kWorkspace);
  if (status == CUBLAS_STATUS_SUCCESS) {
    status = cublasGemmStridedBatchedEx_64(
        blas, operation("tb"), operation("ta"), c.axis("n"), c.axis("m"), c.axis("k"), alpha.of(f64), c.address("b"),
        type, cublas_gemm::leading(b), b.strides[0], c.address("a"), type, cublas_gemm::leading(a), a.strides[0],
        beta.of(f64), c.address("c"), type, cublas_gemm::leading(result), result.strides[0], c.axis("batch"),
        f64 ? CUBLAS_COMPUTE_64F : CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
  }
  return status == CUBLAS_STATUS_SUCCESS ? nullptr : cublasGetStatusName(status);
}

void describe(const assay::Call& c, const assay::Describe& emit) {
  int version = 0;
  cublasGetVersion(c.made<Handle>().blas, &version);
  emit("algorithm", "cublasGemmStridedBatchedEx, CUBLAS_GEMM_DEFAULT");
  emit("library", "cuBLAS " + std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
                      std::to_string(version % 100));
}

// The library does not say into how many parts it splits a sum.
constexpr assay_contract contract_for(std::string_view dtype) {
  return {.interface_version = 1,
          .owner = "libraries@assay",
          .domain = "dtype in f64 f32 f16 bf16",
          .promises = ASSAY_SAME_RUN | ASSAY_SAME_RESTART | ASSAY_SAME_STREAM,
          .arithmetic = cublas_gemm::arithmetic_of(dtype),
          .nan_policy = ASSAY_NAN_PROPAGATES,
          .workspace_limit = kWorkspace,
          .alignment = 16,
          .may_allocate = 1};  // the library may take from the host's heap
}
constexpr assay_contract kDouble = contract_for("f64"), kSingle = contract_for("f32");

const assay_contract* plan_contract(const assay::Call& c) {
  if (c.word("dtype") == "f64") return &kDouble;
  return c.word("dtype") == "f32" ? &kSingle : nullptr;
}

}  // namespace

ASSAY_KERNEL(gemm, cublas, .target = "cuda", .workspace = workspace, .launch = launch, .describe = describe,
             .create = create, .plan_contract = plan_contract, .contract = contract_for("f16"))
