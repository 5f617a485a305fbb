// layernorm_residual by oneDNN: a binary add makes x + residual in the workspace, layer normalization writes y, mean
// and variance. oneDNN has no reciprocal deviation; a loop over the rows makes it from the variance.
#include "onednn.h"

#include <cmath>

namespace {

using onednn::type;

std::shared_ptr<void> plan(const assay::Call& c) {
  const onednn::ThreadCount threads(c.threads());
  auto pipeline = std::make_shared<onednn::Pipeline>();
  const int64_t rows = c.axis("rows");
  const int64_t cols = c.axis("cols");
  if (rows == 0) return pipeline;
  const bool bias = c.word("bias") == "yes";
  const onednn::desc x = onednn::desc_of(c, "x", {0, 1});
  const onednn::desc residual = onednn::desc_of(c, "residual", {0, 1});
  const onednn::desc y = onednn::desc_of(c, "y", {0, 1});
  const onednn::desc vector = onednn::desc_of(c, "gamma", {0});
  const onednn::desc statistics({rows}, type::f32, onednn::dims{1});
  const onednn::desc sum({rows, cols}, type::f32, onednn::dims{cols, 1});
  const uint64_t at = pipeline->reserve(sum.get_size());

  pipeline->add<dnnl::binary>(
      dnnl::binary::primitive_desc(pipeline->engine(), dnnl::algorithm::binary_add, x, residual, sum,
                                   onednn::strict_attributes()),
      {{DNNL_ARG_SRC_0, x, "x"}, {DNNL_ARG_SRC_1, residual, "residual"}, {DNNL_ARG_DST, sum, at}});

  const auto flags = bias ? dnnl::normalization_flags::use_scale | dnnl::normalization_flags::use_shift
                          : dnnl::normalization_flags::use_scale;
  std::vector<onednn::Pipeline::Argument> arguments = {{DNNL_ARG_SRC, sum, at},
                                                       {DNNL_ARG_SCALE, vector, "gamma"},
                                                       {DNNL_ARG_DST, y, "y"},
                                                       {DNNL_ARG_MEAN, statistics, "mean"},
                                                       {DNNL_ARG_VARIANCE, statistics, "rstd"}};
  if (bias) arguments.push_back({DNNL_ARG_SHIFT, vector, "beta"});
  // Training, because inference keeps mean and variance to itself.
  pipeline->add<dnnl::layer_normalization_forward>(
      dnnl::layer_normalization_forward::primitive_desc(pipeline->engine(), dnnl::prop_kind::forward_training, sum, y,
                                                        statistics, static_cast<float>(c.number("eps")), flags,
                                                        onednn::strict_attributes()),
      std::move(arguments));
  return pipeline;
}

const char* launch(const assay::Call& c) {
  onednn::launch(c);
  const auto rstd = c.out<float>("rstd");  // the variance until here
  const auto eps = static_cast<float>(c.number("eps"));
  for (int64_t row = 0; row < rstd.dim(0); ++row) {
    float& value = rstd.data()[row * rstd.stride(0)];
    value = 1 / std::sqrt(value + eps);
  }
  return nullptr;
}

}  // namespace

// pad == 0: the library accepts padded rows and then reads and writes them as if they were dense.
ASSAY_KERNEL(layernorm_residual, onednn, .target = "cpu", .plan = plan, .workspace = onednn::workspace,
             .launch = launch, .describe = onednn::describe,
             .contract = {.interface_version = 1,
                          .owner = "libraries@assay",
                          .domain = "dtype in f32; cols >= 1; pad == 0; rows <= 4096; cols <= 16384 | "
                                    "dtype in f32; cols >= 1; pad == 0; rows <= 131072; cols <= 512",
                          .promises = ASSAY_SAME_RUN | ASSAY_SAME_RESTART,
                          .arithmetic = {.accumulator = ASSAY_ACC_F32, .split_k = 1},
                          .nan_policy = ASSAY_NAN_PROPAGATES,
                          .workspace_limit = onednn::kMostWorkspace,
                          .may_allocate = 1})
