// bias_gelu, erf form, by a cuDNN graph: an addition that broadcasts the bias, and GELU, both in f32.
#include "cudnn_graph.cuh"

namespace {

using cudnn_graph::Engine;
using cudnn_graph::Graph;

struct Plan {
  std::shared_ptr<const Engine> engine;  // none: there is nothing to write
  std::vector<int64_t> ids;              // of x, bias and y
};

std::shared_ptr<void> plan(const assay::Call& c) {
  auto plan = std::make_shared<Plan>();
  const int64_t rows = c.axis("rows"), cols = c.axis("cols");
  if (rows == 0 || cols == 0) return plan;
  Graph graph;
  const auto matrix = [&](const char* name) {
    const assay_tensor& t = c.tensor(name);
    const int64_t stride = rows == 1 ? cols : t.dl.strides[0];  // of one element the library takes no other stride
    return graph.tensor(cudnn_graph::type_of(t.dl.dtype), {1, rows, cols}, {rows * stride, stride, 1}, t.alignment);
  };
  const auto x = matrix("x"), y = matrix("y");
  const assay_tensor& b = c.tensor("bias");
  const auto bias = graph.tensor(cudnn_graph::type_of(b.dl.dtype), {1, 1, cols}, {cols, cols, 1}, b.alignment);
  const auto sum = graph.virtual_tensor(CUDNN_DATA_FLOAT, {1, rows, cols}, {rows * cols, cols, 1});
  graph.pointwise(CUDNN_POINTWISE_ADD, CUDNN_DATA_FLOAT, x, &bias, sum);
  graph.pointwise(CUDNN_POINTWISE_GELU_FWD, CUDNN_DATA_FLOAT, sum, nullptr, y);
  plan->engine = std::move(graph).engine(c.made<cudnn_graph::Handle>());
  plan->ids = {x.id, bias.id, y.id};
  return plan;
}

assay_workspace workspace(const assay::Call& c) {
  const Plan& plan = c.plan<Plan>();
  return {plan.engine == nullptr ? 0 : plan.engine->workspace(), cudnn_graph::kWorkspaceAlignment, ASSAY_WORKSPACE_ANY};
}

const char* launch(const assay::Call& c) {
  const Plan& plan = c.plan<Plan>();
  if (plan.engine == nullptr) return nullptr;
  return plan.engine->run(c.made<cudnn_graph::Handle>(), c.stream(), plan.ids,
                          {c.address("x"), c.address("bias"), c.address("y")}, c.workspace());
}

void describe(const assay::Call& c, const assay::Describe& emit) {
  emit("library", cudnn_graph::version());
  const Plan& plan = c.plan<Plan>();
  if (plan.engine == nullptr) {
    emit("algorithm", "nothing to do");
  } else {
    plan.engine->describe("", emit);
  }
}

}  // namespace

// The erf form alone: the library's tanh is an approximation of undocumented accuracy, whose error of 2e-6 in f32 does
// not fit the op's bound, and misrounds one 16-bit result in a hundred.
ASSAY_KERNEL(bias_gelu, cudnn, .target = "cuda", .plan = plan, .workspace = workspace, .launch = launch,
             .describe = describe, .create = cudnn_graph::create,
             .contract = {.interface_version = 1,
                          .owner = "libraries@assay",
                          .domain = "dtype in f32 f16 bf16; form in erf; rows <= 2147483647; cols <= 2147483647",
                          .promises = ASSAY_SAME_RUN | ASSAY_SAME_RESTART | ASSAY_SAME_STREAM,
                          .arithmetic = {.accumulator = ASSAY_ACC_F32, .split_k = 1, .exp_kind = ASSAY_EXP_ACCURATE},
                          .nan_policy = ASSAY_NAN_PROPAGATES,
                          .workspace_limit = uint64_t{32} << 20,
                          .alignment = 16,
                          .may_allocate = 1})  // the library takes from the host's heap
