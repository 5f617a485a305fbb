// What cuda_ratios measures. To add a case: one line. Sizes follow transformer models (GPT-2, BERT, ViT, Whisper, Qwen
// 2.5, Llama 3.1); rows are as many as fill about 1 GiB, so that memory is what everybody waits for.
#pragma once

namespace assay::ratios {

struct CudaCase {
  const char* kernel;  // "op/kernel"
  const char* rival;   // kernel of the same op; null: the copy
  const char* fields;
  double target;  // of the ratio; 0: nothing is asked
};

inline constexpr double kOfCopy = 0.9;
inline constexpr double kOfCublasLt = 0.75;

inline constexpr CudaCase kCudaCases[] = {
    {"softmax/simt", nullptr, "rows=65536,cols=4096,dtype=f32", kOfCopy},
    {"softmax/simt", nullptr, "rows=131072,cols=4096,dtype=bf16", kOfCopy},
    {"softmax/simt", nullptr, "rows=131072,cols=2048,scale=0.125,mask=additive,dtype=bf16,fill=masked", kOfCopy},
    {"softmax/simt", nullptr, "rows=2097152,cols=128,dtype=f32", kOfCopy},
    {"softmax/simt", nullptr, "rows=178956,cols=1500,dtype=f32", kOfCopy},
    {"softmax/simt", nullptr, "rows=357913,cols=1500,dtype=f16", kOfCopy},
    {"softmax/simt", nullptr, "rows=1362614,cols=197,dtype=f32", 0},
    {"softmax/simt", nullptr, "rows=2725229,cols=197,dtype=bf16", 0},
    {"softmax/simt", nullptr, "rows=16384,cols=16384,dtype=f32", 0},
    {"softmax/simt", nullptr, "rows=5341,cols=50257,dtype=f32", 0},
    {"softmax/simt", nullptr, "rows=10682,cols=50257,dtype=bf16", 0},
    {"softmax/simt", nullptr, "rows=2093,cols=128256,dtype=f32", 0},
    {"softmax/simt", nullptr, "rows=4186,cols=128256,dtype=bf16", 0},
    {"softmax/simt", nullptr, "rows=1765,cols=152064,dtype=f32", 0},
    {"layernorm_residual/simt", nullptr, "rows=65536,cols=4096,dtype=f32", kOfCopy},
    {"layernorm_residual/simt", nullptr, "rows=131072,cols=4096,dtype=bf16", kOfCopy},
    {"layernorm_residual/simt", nullptr, "rows=131072,cols=4096,dtype=f16", kOfCopy},
    {"layernorm_residual/simt", nullptr, "rows=349525,cols=768,dtype=f32", kOfCopy},
    {"layernorm_residual/simt", nullptr, "rows=419430,cols=1280,dtype=bf16", kOfCopy},
    {"layernorm_residual/simt", nullptr, "rows=149796,cols=3584,dtype=bf16", kOfCopy},
    {"layernorm_residual/simt", nullptr, "rows=65536,cols=8192,dtype=bf16", kOfCopy},
    {"layernorm_residual/simt", nullptr, "rows=16384,cols=16384,dtype=f32", 0},
    {"reduce/simt", nullptr, "kind=sum,outer=65536,n=4096,inner=1,dtype=f32", kOfCopy},
    {"reduce/simt", nullptr, "kind=max,outer=178956,n=1500,inner=1,dtype=f32", kOfCopy},
    {"reduce/simt", nullptr, "kind=sum,outer=131072,n=4096,inner=1,dtype=bf16", kOfCopy},
    {"reduce/simt", nullptr, "kind=max,outer=131072,n=4096,inner=1,dtype=bf16", kOfCopy},
    {"reduce/simt", nullptr, "kind=sum,n=268435456,dtype=f32", kOfCopy},
    {"reduce/simt", nullptr, "kind=sum,n=65536,inner=4096,dtype=f32", kOfCopy},
    {"reduce/simt", nullptr, "kind=sum,n=131072,inner=4096,dtype=bf16", kOfCopy},
    {"reduce/simt", nullptr, "kind=max,n=131072,inner=4096,dtype=bf16", kOfCopy},
    {"reduce/simt", nullptr, "kind=sum,n=149796,inner=1792,dtype=f32", kOfCopy},
    {"reduce/simt", nullptr, "kind=sum,outer=4096,n=512,inner=129,dtype=f32", 0},
    {"bias_gelu/simt", nullptr, "rows=87381,cols=3072,form=tanh,dtype=f32", kOfCopy},
    {"bias_gelu/simt", nullptr, "rows=87381,cols=3072,form=erf,dtype=f32", kOfCopy},
    {"bias_gelu/simt", nullptr, "rows=131072,cols=4096,form=tanh,dtype=bf16", kOfCopy},
    {"bias_gelu/simt", nullptr, "rows=174762,cols=3072,form=erf,dtype=bf16", kOfCopy},
    {"bias_gelu/simt", nullptr, "rows=37449,cols=14336,form=tanh,dtype=f16", kOfCopy},
    {"bias_gelu/simt", nullptr, "rows=5341,cols=50257,form=erf,dtype=f32", 0},
    {"gemm/hopper", "cublaslt", "m=4096,n=4096,k=4096,dtype=bf16", kOfCublasLt},
    {"gemm/hopper", "cublaslt", "m=4096,n=4096,k=4096,ta=t,dtype=bf16", kOfCublasLt},
    {"gemm/hopper", "cublaslt", "m=4096,n=4096,k=4096,tb=t,dtype=bf16", kOfCublasLt},
    {"gemm/hopper", "cublaslt", "m=4096,n=4096,k=4096,ta=t,tb=t,dtype=bf16", kOfCublasLt},
    {"gemm/hopper", "cublaslt", "m=8192,n=8192,k=8192,dtype=bf16", kOfCublasLt},
    {"gemm/hopper", "cublaslt", "m=8192,n=8192,k=8192,tb=t,dtype=bf16", kOfCublasLt},
    {"gemm/hopper", "cublaslt", "m=4096,n=4096,k=4096,dtype=f16", 0},
    {"gemm/hopper", "cublaslt", "m=1024,n=1024,k=1024,dtype=bf16", 0},
    {"gemm/hopper", "cublaslt", "m=4096,n=4096,k=4096,pad_a=1,dtype=bf16", 0},
    {"gemm/hopper", "cublaslt", "m=4096,n=4096,k=4096,tb=t,out=bf16,dtype=e4m3", 0},
    {"gemm/hopper", "cublaslt", "m=8192,n=8192,k=8192,tb=t,out=bf16,dtype=e4m3", 0},
    {"gemm/mma", "cublaslt", "m=4096,n=4096,k=4096,dtype=bf16", 0},
    {"gemm/simt", "cublaslt", "m=4096,n=4096,k=4096,dtype=f32", 0},
    {"gemm/simt", "cublaslt", "m=2048,n=2048,k=2048,dtype=f64", 0},
    {"gemm_int8/hopper", "cublaslt", "m=4096,n=4096,k=4096,tb=t,scales=channel", 0},
    {"gemm_int8/hopper", "cublaslt", "m=8192,n=8192,k=8192,tb=t,scales=channel", 0},
    {"gemm_int8/mma", "cublaslt", "m=4096,n=4096,k=4096,tb=t,scales=channel", 0},
};

}  // namespace assay::ratios
