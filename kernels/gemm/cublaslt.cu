// gemm by cuBLASLt: e4m3, bf16 and f16 on tensor cores with f32 sums, f32 without TF32, f64.
#include <optional>

#include "cublaslt.cuh"
#include "gemm/cublas_gemm.cuh"

namespace {

using cublas_gemm::Scalar;

constexpr assay_contract kContract = {.interface_version = 1,
                                      .owner = "libraries@assay",
                                      // It multiplies by alpha = 0 with most algorithms, which makes a NaN in a or b,
                                      // not to be read then, NaN in c; it promises nothing else. It takes e4m3 along
                                      // K alone, in lines and at addresses that are multiples of 16 bytes (cuBLAS
                                      // documentation, cublasLtMatmul(), "FP8 kernels").
                                      .domain =
                                          "dtype in f64 f32 f16 bf16; alpha != 0; batch <= 2147483647 | "
                                          "dtype in e4m3; ta in n; tb in t; k >= 16; k multiple of 16; "
                                          "n multiple of 16; pad_a multiple of 16; pad_b multiple of 16; "
                                          "pad_c multiple of 16; offset == 0; alpha != 0; batch <= 2147483647",
                                      .promises = ASSAY_SAME_RUN | ASSAY_SAME_RESTART | ASSAY_SAME_STREAM,
                                      .arithmetic = cublas_gemm::arithmetic_of("f16"),
                                      .nan_policy = ASSAY_NAN_PROPAGATES,
                                      .workspace_limit = cublaslt::kMostWorkspace,
                                      .alignment = 16,
                                      .may_fall_back = 1,
                                      .may_allocate = 1};  // the library may take from the host's heap

struct Plan {
  explicit Plan(const assay::Call& c)
      : alpha(c.number("alpha")), beta(c.number("beta")), f64(c.word("dtype") == "f64") {}
  Scalar alpha, beta;
  bool f64;
  std::optional<cublaslt::Matmul> matmul;  // none: there is nothing to write
  assay_contract contract = kContract;
};

cublaslt::Matrix matrix_of(const assay::Call& c, const char* name, const char* transposed) {
  const assay_tensor& t = c.tensor(name);
  return {.type = cublas_gemm::type_of(t.dl.dtype),
          .rows = t.dl.shape[1],
          .cols = t.dl.shape[2],
          .stride = cublas_gemm::leading(t.dl),
          .batch_stride = t.dl.strides[0],
          .transposed = transposed != nullptr && c.word(transposed) == "t",
          .alignment = t.alignment};
}

std::shared_ptr<void> plan(const assay::Call& c) {
  auto plan = std::make_shared<Plan>(c);
  assay_arithmetic& arithmetic = plan->contract.arithmetic = cublas_gemm::arithmetic_of(c.word("dtype"));
  if (cublas_gemm::is_empty(c)) return plan;
  plan->matmul.emplace(c.made<cublaslt::Handle>(),
                       cublaslt::Problem{.compute = plan->f64 ? CUBLAS_COMPUTE_64F : CUBLAS_COMPUTE_32F,
                                         .scale = plan->f64 ? CUDA_R_64F : CUDA_R_32F,
                                         .batch = c.axis("batch"),
                                         .a = matrix_of(c, "a", "ta"),
                                         .b = matrix_of(c, "b", "tb"),
                                         .c = matrix_of(c, "c", nullptr)});
  if (c.word("dtype") == "f32" && plan->matmul->uses_tensor_cores()) {
    throw assay::Refusal("the heuristic's algorithm uses tensor cores, which would round f32 inputs to TF32");
  }
  arithmetic.split_k = plan->matmul->split_k();
  return plan;
}

assay_workspace workspace(const assay::Call& c) {
  const Plan& plan = c.plan<Plan>();
  if (!plan.matmul.has_value()) return {};
  return {plan.matmul->workspace(), cublaslt::kWorkspaceAlignment, ASSAY_WORKSPACE_ANY};
}

const char* launch(const assay::Call& c) {
  const Plan& plan = c.plan<Plan>();
  if (!plan.matmul.has_value()) return nullptr;
  return plan.matmul->run(c.made<cublaslt::Handle>(), c.stream(), plan.alpha.of(plan.f64), c.address("a"),
                          c.address("b"), plan.beta.of(plan.f64), c.address("c"), c.workspace());
}

void describe(const assay::Call& c, const assay::Describe& emit) {
  const Plan& plan = c.plan<Plan>();
  if (plan.matmul.has_value()) {
    plan.matmul->describe(emit);
  } else {
    emit("algorithm", "nothing to do");
  }
  emit("library", cublaslt::version());
}

const assay_contract* plan_contract(const assay::Call& c) { return &c.plan<Plan>().contract; }

}  // namespace

ASSAY_KERNEL(gemm, cublaslt, .target = "cuda", .plan = plan, .workspace = workspace, .launch = launch,
             .describe = describe, .create = cublaslt::create, .plan_contract = plan_contract, .contract = kContract)
