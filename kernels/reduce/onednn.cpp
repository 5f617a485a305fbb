// reduce by oneDNN's reduction primitive: sum or max over the middle axis.
#include "onednn.h"

namespace {

std::shared_ptr<void> plan(const assay::Call& c) {
  const onednn::ThreadCount threads(c.threads());
  auto pipeline = std::make_shared<onednn::Pipeline>();
  if (c.axis("outer") == 0 || c.axis("inner") == 0) return pipeline;
  const onednn::desc x = onednn::desc_of(c, "x", {0, 1, 2});
  const assay_dltensor& t = c.tensor("y").dl;
  const onednn::desc y({t.shape[0], 1, t.shape[1]}, onednn::type_of(t.dtype),
                       onednn::dims{t.strides[0], t.strides[0], t.strides[1]});
  const auto algorithm = c.word("kind") == "sum" ? dnnl::algorithm::reduction_sum : dnnl::algorithm::reduction_max;
  pipeline->add<dnnl::reduction>(
      dnnl::reduction::primitive_desc(pipeline->engine(), algorithm, x, y, 0, 0, onednn::strict_attributes()),
      {{DNNL_ARG_SRC, x, "x"}, {DNNL_ARG_DST, y, "y"}});
  return pipeline;
}

}  // namespace

// n >= 2: the library refuses to reduce nothing. Its max passes over NaN.
ASSAY_KERNEL(reduce, onednn, .target = "cpu", .plan = plan, .workspace = onednn::workspace, .launch = onednn::launch,
             .describe = onednn::describe,
             .contract = {.interface_version = 1,
                          .owner = "libraries@assay",
                          .domain = "dtype in f32; n >= 2",
                          .promises = ASSAY_SAME_RUN | ASSAY_SAME_RESTART,
                          .arithmetic = {.accumulator = ASSAY_ACC_F32, .split_k = 1},
                          .nan_policy = ASSAY_NAN_UNSPECIFIED,
                          .workspace_limit = onednn::kMostWorkspace,
                          .may_allocate = 1})
