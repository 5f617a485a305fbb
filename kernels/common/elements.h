// What the launch code of the row kernels shares on every target: element types, and tensors seen as rows.
#ifndef ASSAY_KERNELS_COMMON_ELEMENTS_H
#define ASSAY_KERNELS_COMMON_ELEMENTS_H

#include <assay/kernel.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace assay::kernels {

inline constexpr const char* kOwner = "kernels@assay.example";

// The element types of the row kernels, told apart once a launch.
enum class Element { f64, f32, f16, bf16 };

inline bool same(assay_dtype a, assay_dtype b) { return a.code == b.code && a.bits == b.bits && a.lanes == b.lanes; }

inline Element element_of(const Call& c, const char* tensor) {
  const assay_dtype dtype = c.tensor(tensor).dl.dtype;
  if (same(dtype, dtype_of<double>::value)) return Element::f64;
  if (same(dtype, dtype_of<float>::value)) return Element::f32;
  if (same(dtype, dtype_of<f16>::value)) return Element::f16;
  if (same(dtype, dtype_of<bf16>::value)) return Element::bf16;
  throw Refusal("tensor '" + std::string(tensor) + "' has another dtype");
}

inline int64_t bytes_of(Element e) { return e == Element::f64 ? 8 : e == Element::f32 ? 4 : 2; }

// A tensor whose last axis is contiguous: its address (null while planning) and the elements from one row to the next.
template <class Pointer>
struct Rows {
  Pointer data;
  int64_t stride;
};

template <class Pointer>
Rows<Pointer> rows_of(const Call& c, const char* name, Element element) {
  const assay_tensor& t = c.tensor(name);
  const int last = t.dl.ndim - 1;
  if (element_of(c, name) != element) throw Refusal("tensor '" + std::string(name) + "' has another dtype");
  if (last >= 0 && t.dl.shape[last] > 1 && t.dl.strides[last] != 1) {
    throw Refusal("tensor '" + std::string(name) + "': the elements of a row are not contiguous");
  }
  const int64_t stride = last > 0 ? t.dl.strides[last - 1] : 0;
  if (c.pointers() == nullptr) return {nullptr, stride};
  return {static_cast<std::byte*>(c.pointers()[&t - c.raw().tensors]) + t.dl.byte_offset, stride};
}

}  // namespace assay::kernels
#endif
