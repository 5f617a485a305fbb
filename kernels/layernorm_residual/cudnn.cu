// layernorm_residual by two cuDNN graphs: x + residual in f32 into the workspace, and layer normalization of it, which
// writes y, mean and the reciprocal deviation. Without a bias the library gets zeros for one. Rows that lie apart do so
// in the workspace too, since the library refuses an output whose rows lie farther apart than its input's
// (CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH). Where it refuses that as well, it normalizes dense rows, and a third graph
// copies them to y, which is described.
#include "cudnn_graph.cuh"

namespace {

using cudnn_graph::Descriptor;
using cudnn_graph::Engine;
using cudnn_graph::Graph;
using cudnn_graph::Tensor;

struct Plan {
  int64_t stride = 0;                                     // of rows in the workspace
  std::shared_ptr<const Engine> add, normalize;           // none: there is nothing to write
  std::shared_ptr<const Engine> copy;                     // none: y is written at once
  std::vector<int64_t> add_ids, normalize_ids, copy_ids;  // of what each is given
  uint64_t zeros = 0, dense = 0, library = 0, bytes = 0;  // offsets in the workspace, and its size; the sum is at 0
  float epsilon = 0;
  std::string refused;  // why y is not written at once
};

constexpr uint64_t kInWorkspace = cudnn_graph::kWorkspaceAlignment;

uint64_t round_up(uint64_t bytes) { return (bytes + kInWorkspace - 1) / kInWorkspace * kInWorkspace; }

void plan_addition(const assay::Call& c, Plan& plan) {
  const int64_t rows = c.axis("rows"), cols = c.axis("cols");
  Graph graph;
  const auto matrix = [&](const char* name) {
    const assay_tensor& t = c.tensor(name);
    const int64_t stride = t.dl.strides[0];
    return graph.tensor(cudnn_graph::type_of(t.dl.dtype), {1, rows, cols}, {rows * stride, stride, 1}, t.alignment);
  };
  const Tensor x = matrix("x"), residual = matrix("residual");
  const Tensor sum =
      graph.tensor(CUDNN_DATA_FLOAT, {1, rows, cols}, {rows * plan.stride, plan.stride, 1}, kInWorkspace);
  graph.pointwise(CUDNN_POINTWISE_ADD, CUDNN_DATA_FLOAT, x, &residual, sum);
  plan.add = std::move(graph).engine(c.made<cudnn_graph::Handle>());
  plan.add_ids = {x.id, residual.id, sum.id};
}

void plan_normalization(const assay::Call& c, Plan& plan) {
  const int64_t rows = c.axis("rows"), cols = c.axis("cols");
  Graph graph;
  const auto matrix = [&](cudnnDataType_t type, uint64_t alignment) {
    return graph.tensor(type, {rows, cols, 1, 1}, {plan.stride, 1, plan.stride, plan.stride}, alignment);
  };
  const auto vector = [&](cudnnDataType_t type, uint64_t alignment) {
    return graph.tensor(type, {1, cols, 1, 1}, {cols, 1, cols, cols}, alignment);
  };
  const auto statistic = [&](const char* name) {
    return graph.tensor(CUDNN_DATA_FLOAT, {rows, 1, 1, 1}, {1, 1, 1, 1}, c.tensor(name).alignment);
  };
  const assay_tensor &y = c.tensor("y"), &gamma = c.tensor("gamma");
  const cudnnDataType_t type = cudnn_graph::type_of(y.dl.dtype);
  const bool at_once = plan.stride == y.dl.strides[0];
  const Tensor in = matrix(CUDNN_DATA_FLOAT, kInWorkspace), out = matrix(type, at_once ? y.alignment : kInWorkspace);
  const Tensor scale = vector(type, gamma.alignment);
  const Tensor bias = vector(type, c.has("beta") ? c.tensor("beta").alignment : kInWorkspace);
  const Tensor mean = statistic("mean"), rstd = statistic("rstd");
  const Tensor epsilon = graph.scalar(CUDNN_DATA_FLOAT, 4);
  Descriptor operation(CUDNN_BACKEND_OPERATION_NORM_FORWARD_DESCRIPTOR);
  operation.set(CUDNN_ATTR_OPERATION_NORM_FWD_MODE, CUDNN_TYPE_NORM_MODE, CUDNN_LAYER_NORM)
      .set(CUDNN_ATTR_OPERATION_NORM_FWD_PHASE, CUDNN_TYPE_NORM_FWD_PHASE, CUDNN_NORM_FWD_TRAINING)
      .set(CUDNN_ATTR_OPERATION_NORM_FWD_XDESC, in.descriptor)
      .set(CUDNN_ATTR_OPERATION_NORM_FWD_MEAN_DESC, mean.descriptor)
      .set(CUDNN_ATTR_OPERATION_NORM_FWD_INV_VARIANCE_DESC, rstd.descriptor)
      .set(CUDNN_ATTR_OPERATION_NORM_FWD_SCALE_DESC, scale.descriptor)
      .set(CUDNN_ATTR_OPERATION_NORM_FWD_BIAS_DESC, bias.descriptor)
      .set(CUDNN_ATTR_OPERATION_NORM_FWD_EPSILON_DESC, epsilon.descriptor)
      .set(CUDNN_ATTR_OPERATION_NORM_FWD_YDESC, out.descriptor);
  graph.add(std::move(operation), "layer normalization");
  plan.normalize = std::move(graph).engine(c.made<cudnn_graph::Handle>());
  plan.normalize_ids = {in.id, scale.id, bias.id, epsilon.id, out.id, mean.id, rstd.id};
}

void plan_copy(const assay::Call& c, Plan& plan) {
  const int64_t rows = c.axis("rows"), cols = c.axis("cols");
  Graph graph;
  const assay_tensor& y = c.tensor("y");
  const auto matrix = [&](int64_t stride, uint64_t alignment) {
    return graph.tensor(cudnn_graph::type_of(y.dl.dtype), {1, rows, cols}, {rows * stride, stride, 1}, alignment);
  };
  const Tensor from = matrix(plan.stride, kInWorkspace), to = matrix(y.dl.strides[0], y.alignment);
  graph.pointwise(CUDNN_POINTWISE_IDENTITY, CUDNN_DATA_FLOAT, from, nullptr, to);
  plan.copy = std::move(graph).engine(c.made<cudnn_graph::Handle>());
  plan.copy_ids = {from.id, to.id};
}

std::shared_ptr<Plan> plan_with(const assay::Call& c, int64_t stride) {
  auto plan = std::make_shared<Plan>();
  const assay_tensor& y = c.tensor("y");
  const auto elements = static_cast<uint64_t>(c.axis("rows") * stride);
  plan->stride = stride;
  plan->epsilon = static_cast<float>(c.number("eps"));
  plan_normalization(c, *plan);  // first: this is what may be refused, and the others take long to compile
  plan_addition(c, *plan);
  const bool at_once = stride == y.dl.strides[0];
  if (!at_once) plan_copy(c, *plan);
  plan->zeros = round_up(elements * 4);
  plan->dense = plan->zeros + (c.has("beta") ? 0 : round_up(c.tensor("gamma").bytes));
  plan->library = plan->dense + (at_once ? 0 : round_up(elements * y.dl.dtype.bits / 8));
  plan->bytes = plan->library + std::max({plan->add->workspace(), plan->normalize->workspace(),
                                          at_once ? uint64_t{0} : plan->copy->workspace()});
  return plan;
}

std::shared_ptr<void> plan(const assay::Call& c) {
  if (c.axis("rows") == 0) return std::make_shared<Plan>();
  const int64_t apart = c.tensor("y").dl.strides[0], cols = c.axis("cols");
  try {
    return plan_with(c, apart);
  } catch (const assay::Refusal& refusal) {
    if (apart == cols) throw;
    std::shared_ptr<Plan> plan = plan_with(c, cols);
    plan->refused = refusal.reason;
    return plan;
  }
}

assay_workspace workspace(const assay::Call& c) {
  return {c.plan<Plan>().bytes, cudnn_graph::kWorkspaceAlignment, ASSAY_WORKSPACE_ANY};
}

const char* launch(const assay::Call& c) {
  const Plan& plan = c.plan<Plan>();
  if (plan.normalize == nullptr) return nullptr;
  const auto& handle = c.made<cudnn_graph::Handle>();
  auto* sum = static_cast<std::byte*>(c.workspace());
  void* const library = sum + plan.library;
  void* bias = sum + plan.zeros;
  if (c.has("beta")) {
    bias = c.address("beta");
  } else if (cudaMemsetAsync(bias, 0, c.tensor("gamma").bytes, c.stream()) != cudaSuccess) {
    return assay::last_launch_error();
  }
  const char* error =
      plan.add->run(handle, c.stream(), plan.add_ids, {c.address("x"), c.address("residual"), sum}, library);
  if (error != nullptr) return error;
  float epsilon = plan.epsilon;
  void* const y = plan.copy == nullptr ? c.address("y") : sum + plan.dense;
  error =
      plan.normalize->run(handle, c.stream(), plan.normalize_ids,
                          {sum, c.address("gamma"), bias, &epsilon, y, c.address("mean"), c.address("rstd")}, library);
  if (error != nullptr || plan.copy == nullptr) return error;
  return plan.copy->run(handle, c.stream(), plan.copy_ids, {y, c.address("y")}, library);
}

void describe(const assay::Call& c, const assay::Describe& emit) {
  const Plan& plan = c.plan<Plan>();
  emit("library", cudnn_graph::version());
  if (plan.normalize == nullptr) {
    emit("algorithm", "nothing to do");
    return;
  }
  plan.add->describe("add.", emit);
  plan.normalize->describe("", emit);
  if (plan.copy == nullptr) return;
  plan.copy->describe("copy.", emit);
  emit("copied", "y, after the library refused rows that lie apart: " + plan.refused);
}

}  // namespace

// Rows and columns: the workspace holds x + residual in f32, and y where it is copied. Alignment: whatever it is told
// of it, cuDNN 9.14.0 makes a plan with engine 5, which moves rows by bulk copies, and refuses tensors at multiples of
// 64 bytes at launch (CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER), where 9.19.0 takes them. Of a row with an infinity,
// whose variance is NaN, the reciprocal deviation is 0; a subnormal mean is 0.
ASSAY_KERNEL(layernorm_residual, cudnn, .target = "cuda", .plan = plan, .workspace = workspace, .launch = launch,
             .describe = describe, .create = cudnn_graph::create,
             .contract = {.interface_version = 1,
                          .owner = "libraries@assay",
                          .domain = "dtype in f32 f16 bf16; pad == 0; offset == 0; rows <= 4096; cols <= 8192 | "
                                    "dtype in f32 f16 bf16; pad == 0; offset == 0; rows <= 65536; cols <= 512 | "
                                    "dtype in f32 f16 bf16; pad <= 64; offset == 0; rows <= 2048; cols <= 8192 | "
                                    "dtype in f32 f16 bf16; pad <= 64; offset == 0; rows <= 32768; cols <= 512",
                          .promises = ASSAY_SAME_RUN | ASSAY_SAME_RESTART | ASSAY_SAME_STREAM,
                          .arithmetic = {.accumulator = ASSAY_ACC_F32, .split_k = 1, .flushes_subnormals = 1},
                          .nan_policy = ASSAY_NAN_UNSPECIFIED,
                          .workspace_limit = uint64_t{192} << 20,
                          .alignment = 256,
                          .may_allocate = 1})  // the library takes from the host's heap
