// softmax by oneDNN. It knows neither scale nor mask: z = scale * x + mask is made first, by one primitive, in the
// workspace, where rows are dense (oneDNN's padded-row softmax is its slow reference loop).
#include "onednn.h"

namespace {

using onednn::type;

std::shared_ptr<void> plan(const assay::Call& c) {
  const onednn::ThreadCount threads(c.threads());
  auto pipeline = std::make_shared<onednn::Pipeline>();
  const int64_t rows = c.axis("rows");
  const int64_t cols = c.axis("cols");
  if (rows == 0 || cols == 0) return pipeline;
  const onednn::desc x = onednn::desc_of(c, "x", {0, 1});
  const onednn::desc y = onednn::desc_of(c, "y", {0, 1});
  const auto scale = static_cast<float>(c.number("scale"));
  onednn::desc source = x;
  onednn::Pipeline::Source from = "x";

  const bool masked = c.word("mask") == "additive";
  if (masked || scale != 1) {
    source = onednn::desc({rows, cols}, type::f32, onednn::dims{cols, 1});
    from = pipeline->reserve(source.get_size());
  }
  if (masked) {
    const onednn::desc mask = onednn::desc_of(c, "mask", {0, 1});
    dnnl::primitive_attr attributes = onednn::strict_attributes();
    attributes.set_scales_mask(DNNL_ARG_SRC_0, 0);
    pipeline->constant(DNNL_ARG_ATTR_SCALES | DNNL_ARG_SRC_0, type::f32, scale);
    pipeline->add<dnnl::binary>(
        dnnl::binary::primitive_desc(pipeline->engine(), dnnl::algorithm::binary_add, x, mask, source, attributes),
        {{DNNL_ARG_SRC_0, x, "x"}, {DNNL_ARG_SRC_1, mask, "mask"}, {DNNL_ARG_DST, source, from}});
  } else if (scale != 1) {
    pipeline->constant(DNNL_ARG_SRC_1, type::f32, scale, 2);
    pipeline->add<dnnl::binary>(dnnl::binary::primitive_desc(pipeline->engine(), dnnl::algorithm::binary_mul, x,
                                                             onednn::desc({1, 1}, type::f32, onednn::dims{1, 1}),
                                                             source, onednn::strict_attributes()),
                                {{DNNL_ARG_SRC_0, x, "x"}, {DNNL_ARG_DST, source, from}});
  }
  pipeline->add<dnnl::softmax_forward>(
      dnnl::softmax_forward::primitive_desc(pipeline->engine(), dnnl::prop_kind::forward_inference,
                                            dnnl::algorithm::softmax_accurate, source, y, 1,
                                            onednn::strict_attributes()),
      {{DNNL_ARG_SRC, source, from}, {DNNL_ARG_DST, y, "y"}});
  return pipeline;
}

}  // namespace

// Its vector exp clamps its argument, so that a NaN among a row's inputs can come out as 0. -Inf in a mask is added
// like any number: under it NaN and +Inf are not hidden, so that a mask is claimed for inputs without them.
ASSAY_KERNEL(softmax, onednn, .target = "cpu", .plan = plan, .workspace = onednn::workspace, .launch = onednn::launch,
             .describe = onednn::describe,
             .contract = {.interface_version = 1,
                          .owner = "libraries@assay",
                          .domain = "dtype in f32; mask in none; scale == 1 | "
                                    "dtype in f32; mask in none; rows <= 8192; cols <= 8192 | "
                                    "dtype in f32; fill not in special; rows <= 8192; cols <= 8192",
                          .promises = ASSAY_SAME_RUN | ASSAY_SAME_RESTART,
                          .arithmetic = {.accumulator = ASSAY_ACC_F32,
                                         .split_k = 1,
                                         .exp_kind = ASSAY_EXP_ACCURATE,
                                         .flushes_subnormals = 1},
                          .nan_policy = ASSAY_NAN_UNSPECIFIED,
                          .workspace_limit = onednn::kMostWorkspace,
                          .may_allocate = 1})
