// What our kernels ask for of calls that are too large to be made here: never more than their contracts declare, at any
// number of threads, or a call that a contract claims could not be made at all.
#include <gtest/gtest.h>

#include "load/module.h"
#include "worker/wire.h"

namespace assay {
namespace {

constexpr assay_device kCpu{1, 0};

uint64_t workspace_of(const assay_kernel& kernel, const OpRegistry& ops, const std::string& id, int threads) {
  const Case c = ops.parse_case(id);
  const std::vector<TensorSpec> tensors = ops.named(c.op()).tensors(c);
  const WireCall call(call_to_json(c, tensors, lay_out(tensors, 64, 0, Place::end, {}), threads), kCpu);
  const char* error = nullptr;
  void *const state = kernel.create(kCpu, &error), *plan = nullptr;
  const char* refusal = kernel.prepare(state, &call.get(), &plan);
  EXPECT_EQ(refusal, nullptr) << id << ": " << refusal;
  const uint64_t bytes = refusal == nullptr ? kernel.workspace(plan).bytes : 0;
  if (refusal == nullptr) kernel.release(state, plan);
  kernel.destroy(state);
  return bytes;
}

TEST(Workspaces, OfLargeCallsStayWithinTheContract) {
  const OpRegistry ops = make_op_registry();
  for (const char* id :
       {"reduce:kind=sum,n=4294967296,inner=2,dtype=bf16", "reduce:kind=max,n=1073741824,inner=33,dtype=f32",
        "reduce:kind=sum,n=16384,inner=1048576,dtype=f64", "reduce:kind=sum,n=68719476736,dtype=f16",
        "gemm:m=100000,n=100000,k=100000,dtype=f64", "gemm:batch=1000,m=4000,n=4000,k=4000,tb=t,dtype=bf16",
        "gemm_int8:m=100000,n=100000,k=33000,scales=channel,za=3,zb=5", "softmax:rows=7,cols=1073741824,dtype=bf16",
        "softmax:rows=1073741824,cols=7,dtype=f64", "layernorm_residual:rows=7,cols=1073741824,dtype=bf16",
        "softmax:rows=65536,cols=61440,dtype=f32", "layernorm_residual:rows=65536,cols=61440,dtype=f32",
        "bias_gelu:rows=65536,cols=65536,form=erf,dtype=f16"}) {
    const std::string op = ops.parse_case(id).op();
    const assay_kernel* kernel = Module(ASSAY_BUILD_DIR "/modules/" + op + "_simd.so").find(op, "simd");
    ASSERT_NE(kernel, nullptr) << op;
    for (const int threads : {1, 2, 8, 64, 256, 1024}) {
      EXPECT_LE(workspace_of(*kernel, ops, id, threads), kernel->contract.workspace_limit) << id << " " << threads;
    }
  }
}

}  // namespace
}  // namespace assay
