// bias_gelu, tanh form, by oneDNN: a binary add that broadcasts the bias, GELU as its post-op.
#include "onednn.h"

namespace {

std::shared_ptr<void> plan(const assay::Call& c) {
  const onednn::ThreadCount threads(c.threads());
  auto pipeline = std::make_shared<onednn::Pipeline>();
  if (c.axis("rows") == 0 || c.axis("cols") == 0) return pipeline;
  const onednn::desc x = onednn::desc_of(c, "x", {0, 1});
  const onednn::desc y = onednn::desc_of(c, "y", {0, 1});
  const onednn::desc bias = onednn::desc_of(c, "bias", {0}).reshape({1, c.axis("cols")});
  dnnl::post_ops post;
  post.append_eltwise(c.word("form") == "erf" ? dnnl::algorithm::eltwise_gelu_erf : dnnl::algorithm::eltwise_gelu_tanh,
                      0, 0);
  dnnl::primitive_attr attributes = onednn::strict_attributes();
  attributes.set_post_ops(post);
  pipeline->add<dnnl::binary>(
      dnnl::binary::primitive_desc(pipeline->engine(), dnnl::algorithm::binary_add, x, bias, y, attributes),
      {{DNNL_ARG_SRC_0, x, "x"}, {DNNL_ARG_SRC_1, bias, "bias"}, {DNNL_ARG_DST, y, "y"}});
  return pipeline;
}

}  // namespace

// The tanh form alone: the library's erf is a polynomial (Abramowitz and Stegun 7.1.26) whose error of 1.5e-7, before
// rounding, does not fit the op's 2^-22 |x|. Finite inputs and NaN only: it makes GELU of an infinity NaN, where the
// limits are 0 and infinity.
ASSAY_KERNEL(bias_gelu, onednn, .target = "cpu", .plan = plan, .workspace = onednn::workspace, .launch = onednn::launch,
             .describe = onednn::describe,
             .contract = {.interface_version = 1,
                          .owner = "libraries@assay",
                          .domain = "dtype in f32; form in tanh; fill not in special every",
                          .promises = ASSAY_SAME_RUN | ASSAY_SAME_RESTART,
                          .arithmetic = {.accumulator = ASSAY_ACC_F32, .split_k = 1, .exp_kind = ASSAY_EXP_ACCURATE},
                          .nan_policy = ASSAY_NAN_PROPAGATES,
                          .workspace_limit = onednn::kMostWorkspace,
                          .may_allocate = 1})
