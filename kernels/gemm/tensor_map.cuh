// Tensor maps for bulk copies, encoded by the driver's own function, which is found through the runtime so that nothing
// links the driver's library.
#ifndef ASSAY_KERNELS_GEMM_TENSOR_MAP_CUH
#define ASSAY_KERNELS_GEMM_TENSOR_MAP_CUH

#include <cuda.h>

#include "gemm/cuda_call.cuh"

namespace assay::cuda_gemm {

using EncodeTiled = decltype(&cuTensorMapEncodeTiled);

inline EncodeTiled encode_tiled() {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult result{};
  constexpr unsigned kSince = 12000;  // the version whose signature is meant
  if (cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &found, kSince, cudaEnableDefault, &result) !=
          cudaSuccess ||
      result != cudaDriverEntryPointSuccess || found == nullptr) {
    throw Refusal("the driver has no cuTensorMapEncodeTiled");
  }
  return reinterpret_cast<EncodeTiled>(found);
}

template <class T>
struct map_type_of;
template <>
struct map_type_of<__half> {
  static constexpr CUtensorMapDataType value = CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
};
template <>
struct map_type_of<__nv_bfloat16> {
  static constexpr CUtensorMapDataType value = CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
};
template <>
struct map_type_of<__nv_fp8_e4m3> {
  static constexpr CUtensorMapDataType value = CU_TENSOR_MAP_DATA_TYPE_UINT8;
};
template <>
struct map_type_of<int8_t> {
  static constexpr CUtensorMapDataType value = CU_TENSOR_MAP_DATA_TYPE_UINT8;
};

// What bulk copies see of an operand: `rows` rows of `columns` contiguous elements in each of `batch` matrices.
struct Plane {
  const void* base = nullptr;
  int64_t rows = 0, columns = 0, batch = 1;
  int64_t row_stride = 0, batch_stride = 0;  // elements
};

// Whether its address and strides are what bulk copies take. The stride of a single row does not matter.
inline bool can_be_bulk_copied(const Plane& plane, uint64_t alignment, int64_t element_bytes) {
  const auto fits = [&](int64_t count, int64_t stride) {
    const int64_t bytes = stride * element_bytes;
    return count <= 1 || (bytes > 0 && bytes % 16 == 0 && bytes < int64_t{1} << 40);
  };
  return alignment % 16 == 0 && fits(plane.rows, plane.row_stride) && fits(plane.batch, plane.batch_stride);
}

// Boxes of 128 bytes by `box_rows` rows, swizzled by 128 bytes; zeros outside. Throws Refusal with the driver's error.
template <class T>
CUtensorMap tensor_map(EncodeTiled encode, const Plane& plane, int box_rows) {
  constexpr int64_t kElement = sizeof(T);
  const auto stride = [](int64_t count, int64_t elements) {
    return count <= 1 ? uint64_t{16} : uint64_t(elements * kElement);
  };
  const cuuint64_t sizes[] = {uint64_t(plane.columns), uint64_t(plane.rows), uint64_t(plane.batch)};
  const cuuint64_t strides[] = {stride(plane.rows, plane.row_stride), stride(plane.batch, plane.batch_stride)};
  const cuuint32_t box[] = {cuuint32_t(128 / kElement), cuuint32_t(box_rows), 1}, steps[] = {1, 1, 1};
  CUtensorMap map;
  const CUresult status = encode(&map, map_type_of<T>::value, 3, const_cast<void*>(plane.base), sizes, strides, box,
                                 steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                                 CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (status != CUDA_SUCCESS) {
    throw Refusal("cuTensorMapEncodeTiled: CUDA driver error " + std::to_string(int(status)));
  }
  return map;
}

}  // namespace assay::cuda_gemm
#endif
