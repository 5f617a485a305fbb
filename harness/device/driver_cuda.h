// The CUDA driver API, found at run time: nothing links libcuda.so.1, so that programs start where there is no driver.
// To use one more function: a member here, its line in driver_cuda.cpp. Each is asked for by the version whose
// parameters its type has (cudaTypedefs.h).
#pragma once

#include <cuda.h>
#include <cudaTypedefs.h>
#include <cuda_runtime_api.h>

#include <string>

namespace assay::cuda {

struct Driver {
  PFN_cuInit_v2000 init = nullptr;
  PFN_cuDeviceGetCount_v2000 device_count = nullptr;
  PFN_cuDevicePrimaryCtxRetain_v7000 primary_context = nullptr;
  PFN_cuCtxSetCurrent_v4000 set_current = nullptr;
  PFN_cuCtxSynchronize_v2000 synchronize = nullptr;
  PFN_cuMemGetInfo_v3020 memory_info = nullptr;
  PFN_cuMemGetAllocationGranularity_v10020 granularity = nullptr;
  PFN_cuMemCreate_v10020 create = nullptr;
  PFN_cuMemRelease_v10020 release = nullptr;
  PFN_cuMemExportToShareableHandle_v10020 export_handle = nullptr;
  PFN_cuMemImportFromShareableHandle_v10020 import_handle = nullptr;
  PFN_cuMemAddressReserve_v10020 reserve = nullptr;
  PFN_cuMemAddressFree_v10020 unreserve = nullptr;
  PFN_cuMemMap_v10020 map = nullptr;
  PFN_cuMemUnmap_v10020 unmap = nullptr;
  PFN_cuMemSetAccess_v10020 set_access = nullptr;
  PFN_cuMemHostAlloc_v2020 host_alloc = nullptr;
  PFN_cuMemHostGetDevicePointer_v3020 host_address = nullptr;
  PFN_cuStreamCreate_v2000 stream_create = nullptr;
  PFN_cuStreamSynchronize_v2000 stream_synchronize = nullptr;
  PFN_cuStreamQuery_v2000 stream_query = nullptr;
  PFN_cuStreamWaitValue32_v11070 stream_wait_value = nullptr;
  PFN_cuStreamBeginCapture_v10010 begin_capture = nullptr;
  PFN_cuStreamEndCapture_v10000 end_capture = nullptr;
  PFN_cuGraphInstantiateWithFlags_v11040 instantiate = nullptr;
  PFN_cuGraphLaunch_v10000 graph_launch = nullptr;
  PFN_cuGraphGetNodes_v10000 graph_nodes = nullptr;
  PFN_cuGraphNodeGetType_v10000 node_type = nullptr;
  PFN_cuGraphKernelNodeGetParams_v12000 kernel_node = nullptr;
  PFN_cuGraphExecDestroy_v10000 exec_destroy = nullptr;
  PFN_cuGraphDestroy_v10000 graph_destroy = nullptr;
  PFN_cuKernelGetFunction_v12000 kernel_function = nullptr;
  PFN_cuFuncGetName_v12030 function_name = nullptr;
  PFN_cuFuncGetAttribute_v2020 function_attribute = nullptr;
  PFN_cuGetErrorName_v6000 error_name = nullptr;
  PFN_cuGetErrorString_v6000 error_text = nullptr;
};

// The functions, looked up once. Throws Error saying what is missing.
const Driver& driver();

std::string describe(CUresult result);  // "CUDA_ERROR_ILLEGAL_ADDRESS: an illegal memory access was encountered"

// Throw Error naming `what` for anything but success.
void require(CUresult result, const char* what);
void require(cudaError_t result, const char* what);

inline constexpr int kOrdinal = 0;  // the device: the first that CUDA_VISIBLE_DEVICES leaves

// Memory of that device that can be exported as a file descriptor.
CUmemAllocationProp exportable_memory();
void give_access(CUdeviceptr at, size_t bytes);  // read and write, from that device

}  // namespace assay::cuda
