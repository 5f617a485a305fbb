#include "device/driver_cuda.h"

#include <dlfcn.h>

#include "core/cuda.cuh"

namespace assay::cuda {
namespace {

// Entry points by name and version, as the CUDA driver API's cuGetProcAddress gives them; its own symbol is versioned.
class Library {
 public:
  Library() {
    void* library = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) throw Error("no NVIDIA driver: libcuda.so.1 cannot be loaded");
    find_ = reinterpret_cast<PFN_cuGetProcAddress_v12000>(::dlsym(library, "cuGetProcAddress_v2"));
    if (find_ == nullptr)
      throw Error("the NVIDIA driver is older than CUDA 12: libcuda.so.1 lacks cuGetProcAddress_v2");
  }
  void* find(const char* name, int version) const {
    void* found = nullptr;
    CUdriverProcAddressQueryResult status{};
    if (find_(name, &found, version, CU_GET_PROC_ADDRESS_DEFAULT, &status) != CUDA_SUCCESS || found == nullptr) {
      throw Error("the NVIDIA driver is too old for this build: it has no " + std::string(name));
    }
    return found;
  }

 private:
  PFN_cuGetProcAddress_v12000 find_ = nullptr;
};

// The type's name and the version asked for cannot differ.
#define ASSAY_FIND(member, function, version) \
  d.member = reinterpret_cast<PFN_##function##_v##version>(library.find(#function, version))

Driver load() {
  const Library library;
  Driver d;
  ASSAY_FIND(init, cuInit, 2000);
  ASSAY_FIND(device_count, cuDeviceGetCount, 2000);
  ASSAY_FIND(primary_context, cuDevicePrimaryCtxRetain, 7000);
  ASSAY_FIND(set_current, cuCtxSetCurrent, 4000);
  ASSAY_FIND(synchronize, cuCtxSynchronize, 2000);
  ASSAY_FIND(memory_info, cuMemGetInfo, 3020);
  ASSAY_FIND(granularity, cuMemGetAllocationGranularity, 10020);
  ASSAY_FIND(create, cuMemCreate, 10020);
  ASSAY_FIND(release, cuMemRelease, 10020);
  ASSAY_FIND(export_handle, cuMemExportToShareableHandle, 10020);
  ASSAY_FIND(import_handle, cuMemImportFromShareableHandle, 10020);
  ASSAY_FIND(reserve, cuMemAddressReserve, 10020);
  ASSAY_FIND(unreserve, cuMemAddressFree, 10020);
  ASSAY_FIND(map, cuMemMap, 10020);
  ASSAY_FIND(unmap, cuMemUnmap, 10020);
  ASSAY_FIND(set_access, cuMemSetAccess, 10020);
  ASSAY_FIND(host_alloc, cuMemHostAlloc, 2020);
  ASSAY_FIND(host_address, cuMemHostGetDevicePointer, 3020);
  ASSAY_FIND(stream_create, cuStreamCreate, 2000);
  ASSAY_FIND(stream_synchronize, cuStreamSynchronize, 2000);
  ASSAY_FIND(stream_query, cuStreamQuery, 2000);
  ASSAY_FIND(stream_wait_value, cuStreamWaitValue32, 11070);
  ASSAY_FIND(begin_capture, cuStreamBeginCapture, 10010);
  ASSAY_FIND(end_capture, cuStreamEndCapture, 10000);
  ASSAY_FIND(instantiate, cuGraphInstantiateWithFlags, 11040);
  ASSAY_FIND(graph_launch, cuGraphLaunch, 10000);
  ASSAY_FIND(graph_nodes, cuGraphGetNodes, 10000);
  ASSAY_FIND(node_type, cuGraphNodeGetType, 10000);
  ASSAY_FIND(kernel_node, cuGraphKernelNodeGetParams, 12000);
  ASSAY_FIND(exec_destroy, cuGraphExecDestroy, 10000);
  ASSAY_FIND(graph_destroy, cuGraphDestroy, 10000);
  ASSAY_FIND(kernel_function, cuKernelGetFunction, 12000);
  ASSAY_FIND(function_name, cuFuncGetName, 12030);
  ASSAY_FIND(function_attribute, cuFuncGetAttribute, 2020);
  ASSAY_FIND(error_name, cuGetErrorName, 6000);
  ASSAY_FIND(error_text, cuGetErrorString, 6000);
  return d;
}

#undef ASSAY_FIND

}  // namespace

const Driver& driver() {
  static const Driver table = load();
  return table;
}

std::string describe(CUresult result) {
  const char *name = nullptr, *text = nullptr;
  driver().error_name(result, &name);
  driver().error_text(result, &text);
  return std::string(name == nullptr ? std::to_string(result) : name) +
         (text == nullptr ? "" : std::string(": ") + text);
}

void require(CUresult result, const char* what) {
  if (result == CUDA_SUCCESS) return;
  const std::string text = std::string(what) + ": " + describe(result);
  if (result == CUDA_ERROR_OUT_OF_MEMORY) throw NotGiven(text);
  throw Error(text);
}

void require(cudaError_t result, const char* what) { require_cuda(result, what); }

CUmemAllocationProp exportable_memory() {
  CUmemAllocationProp memory{};
  memory.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  memory.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  memory.location = {CU_MEM_LOCATION_TYPE_DEVICE, {kOrdinal}};
  return memory;
}

void give_access(CUdeviceptr at, size_t bytes) {
  CUmemAccessDesc access{};
  access.location = {CU_MEM_LOCATION_TYPE_DEVICE, {kOrdinal}};
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  require(driver().set_access(at, bytes, &access, 1), "cuMemSetAccess");
}

}  // namespace assay::cuda
