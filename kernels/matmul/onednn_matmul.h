// matmul as one oneDNN primitive over the call's own strides, for the kernels of this folder that differ in dtype
// alone.
#ifndef KERNELS_MATMUL_ONEDNN_MATMUL_H
#define KERNELS_MATMUL_ONEDNN_MATMUL_H

#include "onednn.h"

namespace onednn_matmul {

// An axis of length 1 is told as the outermost, whatever its stride is: oneDNN 3.2 keeps primitives by descriptors that
// it compares without such strides (onednn.h, desc_of).
inline onednn::desc desc_of(const assay::Call& c, const char* name) {
  const assay_dltensor& t = c.tensor(name).dl;
  const onednn::dims shape(t.shape, t.shape + t.ndim);
  onednn::dims strides(t.strides, t.strides + t.ndim);
  int64_t span = 1;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] > 1) span = std::max(span, shape[i] * strides[i]);
  }
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 1) strides[i] = span;
  }
  return onednn::desc(shape, onednn::type_of(t.dtype), strides);
}

inline std::shared_ptr<void> plan(const assay::Call& c) {
  const onednn::ThreadCount threads(c.threads());
  auto pipeline = std::make_shared<onednn::Pipeline>();
  const assay_dltensor& out = c.tensor("c").dl;
  if (std::count(out.shape, out.shape + out.ndim, 0) > 0) return pipeline;
  const onednn::desc a = desc_of(c, "a"), b = desc_of(c, "b"), product = desc_of(c, "c");
  pipeline->add<dnnl::matmul>(
      dnnl::matmul::primitive_desc(pipeline->engine(), a, b, product, onednn::strict_attributes()),
      {{DNNL_ARG_SRC, a, "a"}, {DNNL_ARG_WEIGHTS, b, "b"}, {DNNL_ARG_DST, product, "c"}});
  return pipeline;
}

}  // namespace onednn_matmul
#endif
