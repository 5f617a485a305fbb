#include "device/graph_cuda.h"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>

#include "core/error.h"

namespace assay::cuda {
namespace {

struct GraphEnd {
  void operator()(CUgraph graph) const { driver().graph_destroy(graph); }
};
struct ExecEnd {
  void operator()(CUgraphExec exec) const { driver().exec_destroy(exec); }
};

std::string readable(const char* name) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(abi::__cxa_demangle(name, nullptr, nullptr, &status),
                                                         &std::free);
  return status == 0 ? text.get() : name;
}

int attribute(CUfunction function, CUfunction_attribute which) {
  int value = 0;
  require(driver().function_attribute(&value, which, function), "cuFuncGetAttribute");
  return value;
}

QueuedKernel kernel_of(CUgraphNode node) {
  CUDA_KERNEL_NODE_PARAMS params{};
  require(driver().kernel_node(node, &params), "cuGraphKernelNodeGetParams");
  CUfunction function = params.func;
  if (function == nullptr) require(driver().kernel_function(&function, params.kern), "cuKernelGetFunction");
  const char* name = nullptr;
  require(driver().function_name(&name, function), "cuFuncGetName");
  return {.name = readable(name),
          .grid = {params.gridDimX, params.gridDimY, params.gridDimZ},
          .block = {params.blockDimX, params.blockDimY, params.blockDimZ},
          .registers = attribute(function, CU_FUNC_ATTRIBUTE_NUM_REGS),
          .local_bytes = attribute(function, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES),
          .shared_bytes =
              attribute(function, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES) + static_cast<int>(params.sharedMemBytes)};
}

void note_nodes(CUgraph graph, Captured& captured) {
  size_t count = 0;
  require(driver().graph_nodes(graph, nullptr, &count), "cuGraphGetNodes");
  std::vector<CUgraphNode> nodes(count);
  if (count > 0) require(driver().graph_nodes(graph, nodes.data(), &count), "cuGraphGetNodes");
  for (const CUgraphNode node : nodes) {
    CUgraphNodeType type{};
    require(driver().node_type(node, &type), "cuGraphNodeGetType");
    if (type == CU_GRAPH_NODE_TYPE_KERNEL) captured.kernels.push_back(kernel_of(node));
    if (type == CU_GRAPH_NODE_TYPE_MEM_ALLOC || type == CU_GRAPH_NODE_TYPE_MEM_FREE) ++captured.allocations;
  }
}

}  // namespace

Captured capture_and_replay(CUstream stream, const std::function<const char*()>& launch) {
  Captured captured;
  // Global: calls that take memory, give it back or wait are refused whatever stream they name.
  require(driver().begin_capture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL), "cuStreamBeginCapture");
  const char* error = launch();
  const std::string said = error == nullptr ? "" : error;
  CUgraph raw = nullptr;
  const CUresult ended = driver().end_capture(stream, &raw);
  const std::unique_ptr<std::remove_pointer_t<CUgraph>, GraphEnd> graph(raw);
  if (ended != CUDA_SUCCESS || !said.empty() || graph == nullptr) {
    captured.why_not = ended == CUDA_SUCCESS ? said : describe(ended) + (said.empty() ? "" : "; launch: " + said);
    if (captured.why_not.empty()) captured.why_not = "the driver gave no graph";
    return captured;
  }
  note_nodes(graph.get(), captured);
  CUgraphExec made = nullptr;
  require(driver().instantiate(&made, graph.get(), 0), "cuGraphInstantiate");
  const std::unique_ptr<std::remove_pointer_t<CUgraphExec>, ExecEnd> exec(made);
  require(driver().graph_launch(exec.get(), stream), "cuGraphLaunch");
  return captured;  // a graph that runs may be destroyed: it goes when it is done
}

}  // namespace assay::cuda
