// gemm as one oneDNN matmul, for the kernels of this folder that differ in dtype alone: alpha is the scale of `a`, beta
// a sum post-op. Where beta is 0 there is no post-op, and C is not read.
#ifndef KERNELS_GEMM_ONEDNN_MATMUL_H
#define KERNELS_GEMM_ONEDNN_MATMUL_H

#include "onednn.h"

namespace onednn_gemm {

inline std::shared_ptr<void> plan(const assay::Call& c) {
  const onednn::ThreadCount threads(c.threads());
  auto pipeline = std::make_shared<onednn::Pipeline>();
  if (c.axis("batch") == 0 || c.axis("m") == 0 || c.axis("n") == 0) return pipeline;
  const bool ta = c.word("ta") == "t";
  const bool tb = c.word("tb") == "t";
  const onednn::desc a = onednn::desc_of(c, "a", ta ? std::vector{0, 2, 1} : std::vector{0, 1, 2});
  const onednn::desc b = onednn::desc_of(c, "b", tb ? std::vector{0, 2, 1} : std::vector{0, 1, 2});
  const onednn::desc out = onednn::desc_of(c, "c", {0, 1, 2});
  const auto alpha = static_cast<float>(c.number("alpha"));
  const auto beta = static_cast<float>(c.number("beta"));

  dnnl::primitive_attr attributes = onednn::strict_attributes();
  if (alpha != 1) {
    attributes.set_scales_mask(DNNL_ARG_SRC, 0);
    pipeline->constant(DNNL_ARG_ATTR_SCALES | DNNL_ARG_SRC, onednn::type::f32, alpha);
  }
  if (beta != 0) {
    dnnl::post_ops post;
    post.append_sum(beta);
    attributes.set_post_ops(post);
  }
  pipeline->add<dnnl::matmul>(dnnl::matmul::primitive_desc(pipeline->engine(), a, b, out, attributes),
                              {{DNNL_ARG_SRC, a, "a"}, {DNNL_ARG_WEIGHTS, b, "b"}, {DNNL_ARG_DST, out, "c"}});
  return pipeline;
}

}  // namespace onednn_gemm
#endif
