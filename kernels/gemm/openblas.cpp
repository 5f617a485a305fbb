// gemm by OpenBLAS: cblas_sgemm and cblas_dgemm, one call a batch entry. The row kernel that ours is measured against.
#include <assay/kernel.h>
#include <cblas.h>

#include <algorithm>

namespace {

// BLAS wants ld >= 1 even of matrices with no columns, whose tensors may say 0.
blasint leading(int64_t stride) { return static_cast<blasint>(std::max<int64_t>(1, stride)); }

template <class T, class Gemm>
void multiply(const assay::Call& call, Gemm gemm) {
  const auto a = call.in<T>("a");
  const auto b = call.in<T>("b");
  const auto c = call.out<T>("c");
  const CBLAS_TRANSPOSE ta = call.word("ta") == "t" ? CblasTrans : CblasNoTrans;
  const CBLAS_TRANSPOSE tb = call.word("tb") == "t" ? CblasTrans : CblasNoTrans;
  // 0.3.21 multiplies by alpha = 0 in its small-matrix kernels (SkylakeX), which turns a NaN in a or b, not to be read
  // then, into NaN in c. An empty sum asks for the same thing and is not affected.
  const T alpha = static_cast<T>(call.number("alpha"));
  const blasint k = alpha == 0 ? 0 : static_cast<blasint>(call.axis("k"));
  for (int64_t i = 0; i < c.dim(0); ++i) {
    gemm(CblasRowMajor, ta, tb, static_cast<blasint>(c.dim(1)), static_cast<blasint>(c.dim(2)), k, alpha,
         a.data() + i * a.stride(0), leading(a.stride(1)), b.data() + i * b.stride(0), leading(b.stride(1)),
         static_cast<T>(call.number("beta")), c.data() + i * c.stride(0), leading(c.stride(1)));
  }
}

const char* launch(const assay::Call& c) {
  openblas_set_num_threads(c.threads());
  if (c.word("dtype") == "f32") {
    multiply<float>(c, cblas_sgemm);
  } else {
    multiply<double>(c, cblas_dgemm);
  }
  return nullptr;
}

void describe(const assay::Call&, const assay::Describe& emit) {
  emit("isa", openblas_get_corename());
  emit("library", openblas_get_config());
}

// The depth of the sum is OpenBLAS's secret (its blocking differs from core to core); gemm's bound holds for every
// order. It promises nothing across thread counts, addresses or leading dimensions: edges take other micro-kernels.
constexpr assay_contract contract_with(int32_t accumulator) {
  return {.interface_version = 1,
          .owner = "libraries@assay",
          // A leading dimension, a length and a pad together, is an int.
          .domain =
              "dtype in f32 f64; m <= 1073741823; n <= 1073741823; k <= 1073741823; pad_a <= 1073741823; "
              "pad_b <= 1073741823; pad_c <= 1073741823",
          .promises = ASSAY_SAME_RUN | ASSAY_SAME_RESTART,
          .arithmetic = {.accumulator = accumulator, .split_k = 1},
          .nan_policy = ASSAY_NAN_PROPAGATES,
          .may_allocate = 1};  // packing buffers, from a pool of its own
}
constexpr assay_contract kDouble = contract_with(ASSAY_ACC_F64);

const assay_contract* plan_contract(const assay::Call& c) { return c.word("dtype") == "f64" ? &kDouble : nullptr; }

}  // namespace

ASSAY_KERNEL(gemm, openblas, .target = "cpu", .launch = launch, .describe = describe, .plan_contract = plan_contract,
             .contract = contract_with(ASSAY_ACC_F32))
