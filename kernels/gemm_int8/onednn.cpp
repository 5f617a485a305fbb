// gemm_int8 by oneDNN's matmul: scales and zero points are attributes, requantization is its own.
#include "onednn.h"

namespace {

using onednn::type;

// Before VNNI the library adds pairs of products in 16 bits, saturating: wrong sums, documented as such.
const char* unavailable() {
  const bool vnni = onednn::has_isa(dnnl::cpu_isa::avx512_core_vnni) || onednn::has_isa(dnnl::cpu_isa::avx2_vnni);
  return vnni ? nullptr : "oneDNN sums int8 products exactly only with VNNI";
}

std::shared_ptr<void> plan(const assay::Call& c) {
  const onednn::ThreadCount threads(c.threads());
  auto pipeline = std::make_shared<onednn::Pipeline>();
  if (c.axis("m") == 0 || c.axis("n") == 0) return pipeline;
  const bool tb = c.word("tb") == "t";
  const bool per_channel = c.word("scales") == "channel";
  const onednn::desc a = onednn::desc_of(c, "a", {0, 1});
  const onednn::desc b = onednn::desc_of(c, "b", tb ? std::vector{1, 0} : std::vector{0, 1});
  const onednn::desc y = onednn::desc_of(c, "y", {0, 1});
  const onednn::desc one({1}, type::f32, onednn::dims{1});
  const onednn::desc scale_b({per_channel ? c.axis("n") : 1}, type::f32, onednn::dims{1});

  dnnl::primitive_attr attributes = onednn::strict_attributes();
  attributes.set_scales_mask(DNNL_ARG_SRC, 0);
  attributes.set_scales_mask(DNNL_ARG_WEIGHTS, per_channel ? 1 << 1 : 0);  // bit 1: one scale a column
  attributes.set_scales_mask(DNNL_ARG_DST, 0);
  const std::pair<int, const char*> zero_points[] = {
      {DNNL_ARG_SRC, "za"}, {DNNL_ARG_WEIGHTS, "zb"}, {DNNL_ARG_DST, "zy"}};
  for (const auto& [argument, field] : zero_points) {
    const auto zero = static_cast<int32_t>(c.axis(field));
    if (zero == 0) continue;
    attributes.set_zero_points_mask(argument, 0);
    pipeline->constant(DNNL_ARG_ATTR_ZERO_POINTS | argument, type::s32, zero);
  }
  pipeline->add<dnnl::matmul>(dnnl::matmul::primitive_desc(pipeline->engine(), a, b, y, attributes),
                              {{DNNL_ARG_SRC, a, "a"},
                               {DNNL_ARG_WEIGHTS, b, "b"},
                               {DNNL_ARG_DST, y, "y"},
                               {DNNL_ARG_ATTR_SCALES | DNNL_ARG_SRC, one, "scale_a"},
                               {DNNL_ARG_ATTR_SCALES | DNNL_ARG_WEIGHTS, scale_b, "scale_b"},
                               {DNNL_ARG_ATTR_SCALES | DNNL_ARG_DST, one, "scale_y"}});
  return pipeline;
}

}  // namespace

ASSAY_KERNEL(gemm_int8, onednn, .target = "cpu", .plan = plan, .workspace = onednn::workspace, .launch = onednn::launch,
             .describe = onednn::describe, .unavailable = unavailable,
             .contract = {.interface_version = 1,
                          .owner = "libraries@assay",
                          .domain = "dtype in i8; k >= 1; m <= 8192; n <= 131072; k <= 8192",
                          .promises = ASSAY_SAME_RUN | ASSAY_SAME_RESTART,
                          .arithmetic = {.accumulator = ASSAY_ACC_I32, .split_k = 1, .intermediate = ASSAY_ACC_F32},
                          .nan_policy = ASSAY_NAN_UNSPECIFIED,
                          .workspace_limit = onednn::kMostWorkspace,
                          .may_allocate = 1})
