// softmax by cuDNN's cudnnSoftmaxForward, which knows neither scale nor mask: z = scale x + mask is made first, in the
// workspace, by cudnnTransformTensor or cudnnOpTensor.
#include "cudnn_graph.cuh"

namespace {

using cudnn_graph::require;

// A matrix as the library's four dimensions: rows are images, columns channels.
class Matrix {
 public:
  Matrix(cudnnDataType_t type, int64_t rows, int64_t cols, int64_t stride) {
    require(cudnnCreateTensorDescriptor(&value_), "cudnnCreateTensorDescriptor");
    require(cudnnSetTensor4dDescriptorEx(value_, type, static_cast<int>(rows), static_cast<int>(cols), 1, 1,
                                         static_cast<int>(stride), 1, 1, 1),
            "cudnnSetTensor4dDescriptorEx");
  }
  ~Matrix() { cudnnDestroyTensorDescriptor(value_); }
  Matrix(const Matrix&) = delete;
  Matrix& operator=(const Matrix&) = delete;
  cudnnTensorDescriptor_t get() const { return value_; }

 private:
  cudnnTensorDescriptor_t value_ = nullptr;
};

struct Plan {
  explicit Plan(const assay::Call& c) : scale(c.number("scale")), masked(c.word("mask") == "additive") {
    const int64_t rows = c.axis("rows"), cols = c.axis("cols");
    if (rows == 0 || cols == 0) return;
    const assay_dltensor& t = c.tensor("x").dl;
    const cudnnDataType_t type = cudnn_graph::type_of(t.dtype);
    f64 = type == CUDNN_DATA_DOUBLE;
    x.emplace(type, rows, cols, t.strides[0]);
    if (!masked && scale == 1) return;
    dense.emplace(type, rows, cols, cols);
    bytes = static_cast<uint64_t>(rows * cols) * t.dtype.bits / 8;
    require(cudnnCreateOpTensorDescriptor(&add), "cudnnCreateOpTensorDescriptor");
    require(cudnnSetOpTensorDescriptor(add, CUDNN_OP_TENSOR_ADD, type, CUDNN_PROPAGATE_NAN),
            "cudnnSetOpTensorDescriptor");
  }
  ~Plan() {
    if (add != nullptr) cudnnDestroyOpTensorDescriptor(add);
  }
  double scale;
  bool masked, f64 = false;
  std::optional<Matrix> x;      // and mask and y, which have the same strides; none: there is nothing to write
  std::optional<Matrix> dense;  // z, where it is needed
  uint64_t bytes = 0;
  cudnnOpTensorDescriptor_t add = nullptr;
};

std::shared_ptr<void> plan(const assay::Call& c) { return std::make_shared<Plan>(c); }

assay_workspace workspace(const assay::Call& c) {
  return {c.plan<Plan>().bytes, cudnn_graph::kWorkspaceAlignment, ASSAY_WORKSPACE_ANY};
}

template <class T>
cudnnStatus_t run(const assay::Call& c, const Plan& plan) {
  const cudnnHandle_t dnn = c.made<cudnn_graph::Handle>().dnn;
  const T one = 1, zero = 0, scale = static_cast<T>(plan.scale);
  const void* z = c.address("x");
  cudnnTensorDescriptor_t of_z = plan.x->get();
  cudnnStatus_t status = cudnnSetStream(dnn, c.stream());
  if (plan.dense.has_value() && status == CUDNN_STATUS_SUCCESS) {
    of_z = plan.dense->get();
    status = plan.masked ? cudnnOpTensor(dnn, plan.add, &scale, plan.x->get(), z, &one, plan.x->get(),
                                         c.address("mask"), &zero, of_z, c.workspace())
                         : cudnnTransformTensor(dnn, &scale, plan.x->get(), z, &zero, of_z, c.workspace());
    z = c.workspace();
  }
  if (status != CUDNN_STATUS_SUCCESS) return status;
  return cudnnSoftmaxForward(dnn, CUDNN_SOFTMAX_ACCURATE, CUDNN_SOFTMAX_MODE_CHANNEL, &one, of_z, z, &zero,
                             plan.x->get(), c.address("y"));
}

const char* launch(const assay::Call& c) {
  const Plan& plan = c.plan<Plan>();
  if (!plan.x.has_value()) return nullptr;
  const cudnnStatus_t status = plan.f64 ? run<double>(c, plan) : run<float>(c, plan);
  return status == CUDNN_STATUS_SUCCESS ? nullptr : cudnnGetErrorString(status);
}

void describe(const assay::Call& c, const assay::Describe& emit) {
  const Plan& plan = c.plan<Plan>();
  emit("library", cudnn_graph::version());
  emit("algorithm", !plan.x.has_value()       ? "nothing to do"
                    : !plan.dense.has_value() ? "cudnnSoftmaxForward, accurate"
                    : plan.masked             ? "cudnnOpTensor + cudnnSoftmaxForward, accurate"
                                              : "cudnnTransformTensor + cudnnSoftmaxForward, accurate");
}

// z in 16 bits would be rounded before its exponential. A row that is hidden whole comes out as zeros, not NaN. A
// tensor of the library has fewer than 2^31 elements, padding between rows included (cudnnSetTensor4dDescriptorEx
// refuses it).
constexpr assay_contract contract_with(int32_t accumulator) {
  return {.interface_version = 1,
          .owner = "libraries@assay",
          .domain =
              "mask in none; scale == 1; rows <= 46340; cols <= 23170; pad <= 23170 | "
              "mask in none; scale == 1; rows <= 4194304; cols <= 256; pad <= 255 | "
              "mask in none; scale == 1; rows <= 64; cols <= 16777216; pad <= 16777215 | "
              "dtype in f32 f64; rows <= 4096; cols <= 4096; pad <= 65536",
          .promises = ASSAY_SAME_RUN | ASSAY_SAME_RESTART | ASSAY_SAME_STREAM,
          .arithmetic = {.accumulator = accumulator, .split_k = 1, .exp_kind = ASSAY_EXP_ACCURATE},
          .nan_policy = ASSAY_NAN_UNSPECIFIED,
          .workspace_limit = uint64_t{128} << 20,
          .alignment = 16,
          .may_allocate = 1};  // the library may take from the host's heap
}
constexpr assay_contract kDouble = contract_with(ASSAY_ACC_F64);

const assay_contract* plan_contract(const assay::Call& c) { return c.word("dtype") == "f64" ? &kDouble : nullptr; }

}  // namespace

ASSAY_KERNEL(softmax, cudnn, .target = "cuda", .plan = plan, .workspace = workspace, .launch = launch,
             .describe = describe, .create = cudnn_graph::create, .plan_contract = plan_contract,
             .contract = contract_with(ASSAY_ACC_F32))
