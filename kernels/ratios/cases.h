// What kernel_ratios measures. To add a case: one line.
#pragma once

namespace assay::ratios {

struct LibraryCase {
  const char* kernel;  // "op/kernel"
  const char* rival;   // kernel of the same op
  const char* fields;
  double target;  // what we ask of ourselves; 0: nothing
};

// Products: squares, then shapes of transformer layers (BERT base, Llama 3.1 8B) and of decoding.
inline constexpr LibraryCase kLibraryCases[] = {
    {"gemm/simd", "openblas", "m=512,n=512,k=512,dtype=f32", 0},
    {"gemm/simd", "openblas", "m=1024,n=1024,k=1024,dtype=f32", 0.7},
    {"gemm/simd", "openblas", "m=2048,n=2048,k=2048,dtype=f32", 0},
    {"gemm/simd", "openblas", "m=1024,n=1024,k=1024,tb=t,dtype=f32", 0},
    {"gemm/simd", "openblas", "m=1024,n=1024,k=1024,ta=t,dtype=f32", 0},
    {"gemm/simd", "openblas", "m=1024,n=1024,k=1024,dtype=f64", 0},
    {"gemm/simd", "openblas", "m=384,n=3072,k=768,tb=t,dtype=f32", 0},
    {"gemm/simd", "openblas", "m=509,n=768,k=3072,tb=t,dtype=f32", 0},
    {"gemm/simd", "openblas", "m=197,n=1024,k=4096,dtype=f32", 0},
    {"gemm/simd", "openblas", "m=1,n=4096,k=4096,dtype=f32", 0},
    {"gemm/simd", "openblas", "m=8,n=14336,k=4096,tb=t,dtype=f32", 0},
    {"gemm/simd", "openblas", "m=16,n=4096,k=14336,dtype=f32", 0},
    {"gemm/simd", "openblas", "batch=96,m=128,n=128,k=64,tb=t,dtype=f32", 0},
    {"gemm/simd", "onednn_bf16", "m=1024,n=1024,k=1024,dtype=bf16", 0},
    {"gemm/simd", "onednn_f16", "m=1024,n=1024,k=1024,dtype=f16", 0},
    {"gemm_int8/simd", "onednn", "m=1024,n=1024,k=1024,dtype=i8", 0},
    {"gemm_int8/simd", "onednn", "m=8,n=4096,k=4096,tb=t,scales=channel,dtype=i8", 0},
};

struct TrafficCase {
  const char* kernel;
  const char* fields;  // * stands for as many as fill the largest tensor to the table's array size
  bool only_reads;     // the result is small: reading alone is a ceiling too
};

// Of the copy bandwidth, where the arrays are beyond the last-level cache.
inline constexpr double kCopyTarget = 0.8;

// Rows of hidden states, of attention scores (1500: Whisper) and of feed-forward layers.
inline constexpr TrafficCase kTrafficCases[] = {
    {"softmax/simd", "rows=*,cols=4096,dtype=f32", false},
    {"softmax/simd", "rows=*,cols=1500,dtype=f32", false},
    {"softmax/simd", "rows=*,cols=128,dtype=f32", false},
    {"softmax/simd", "rows=*,cols=4096,dtype=bf16", false},
    {"softmax/simd", "rows=*,cols=1500,dtype=bf16", false},
    {"softmax/simd", "rows=*,cols=4096,dtype=f16", false},
    {"softmax/simd", "rows=*,cols=1500,dtype=f16", false},
    {"layernorm_residual/simd", "rows=*,cols=4096,dtype=f32", false},
    {"layernorm_residual/simd", "rows=*,cols=768,dtype=f32", false},
    {"layernorm_residual/simd", "rows=*,cols=4096,dtype=bf16", false},
    {"layernorm_residual/simd", "rows=*,cols=1500,dtype=bf16", false},
    {"layernorm_residual/simd", "rows=*,cols=4096,dtype=f16", false},
    {"reduce/simd", "kind=sum,outer=*,n=4096,inner=1,dtype=f32", true},
    {"reduce/simd", "kind=sum,outer=1,n=*,inner=4096,dtype=f32", true},
    {"reduce/simd", "kind=max,outer=*,n=1500,inner=1,dtype=f32", true},
    {"reduce/simd", "kind=sum,outer=*,n=4096,inner=1,dtype=bf16", true},
    {"reduce/simd", "kind=max,outer=*,n=4096,inner=1,dtype=bf16", true},
    {"reduce/simd", "kind=sum,outer=1,n=*,inner=4096,dtype=bf16", true},
    {"reduce/simd", "kind=max,outer=1,n=*,inner=4096,dtype=bf16", true},
    {"reduce/simd", "kind=sum,outer=*,n=4096,inner=1,dtype=f16", true},
    {"bias_gelu/simd", "rows=*,cols=3072,form=tanh,dtype=f32", false},
    {"bias_gelu/simd", "rows=*,cols=3072,form=erf,dtype=f32", false},
    {"bias_gelu/simd", "rows=*,cols=4096,form=tanh,dtype=bf16", false},
    {"bias_gelu/simd", "rows=*,cols=1500,form=erf,dtype=bf16", false},
    {"bias_gelu/simd", "rows=*,cols=4096,form=tanh,dtype=f16", false},
};

}  // namespace assay::ratios
