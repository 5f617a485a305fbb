// bias_gelu, simt: t = x + bias, y = t P(t) element by element, with P the normal distribution function (form erf) or
// its tanh approximation, on CUDA cores.
//
// Both forms go through the tail h = P(-|t|), y = max(t, 0) - |t| h, in which nothing cancels:
//   erf   h = exp(-t^2/2) r q(r), r = 1 / (1 + c |t|), q a least-squares polynomial that is off by 1e-8 of P at most
//   (the
//         form is Hastings', as in Abramowitz and Stegun, 7.1.26)
//   tanh  h = 1 / (1 + exp(2w)), w = sqrt(2/pi) (|t| + 0.044715 |t|^3)
// A thread keeps its columns' bias in registers and goes down the rows.
#include <assay/kernel.h>

#include <algorithm>
#include <cstdint>
#include <memory>

#include "common/row_plan.cuh"

namespace assay::simt {
namespace {

struct BiasGeluRows {
  Rows<const void*> x, bias;
  Rows<void*> y;
  int64_t rows, cols;
};

enum class Form { erf, tanh };

inline constexpr float kLog2E = 1.44269504088896341f;

// 2^x to 2 ulp (PTX ISA, ex2.approx); 0 for what is below the normal numbers, where t^2 / 2 > 87 and the tail is
// nothing beside the rounding of t.
__device__ float exp2_of(float x) {
  float power;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(x));
  return power;
}
// 1/x: 1 ulp (PTX ISA, rcp.approx); 0 for an infinite x.
__device__ float reciprocal(float x) {
  float inverse;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(inverse) : "f"(x));
  return inverse;
}

template <Form kForm>
__device__ float tail(float a) {
  if constexpr (kForm == Form::erf) {
    constexpr float kSlope = 0.39f;
    constexpr float kQ[] = {0.15142715f, 0.19443609f, -0.01663367f, 0.37516603f, -0.25824221f, 0.05384663f};
    const float r = reciprocal(fmaf(a, kSlope, 1.0f));
    float q = kQ[5];
#pragma unroll
    for (int i = 4; i >= 0; --i) q = fmaf(q, r, kQ[i]);
    return q * r * exp2_of(a * (-0.5f * kLog2E) * a);
  } else {
    constexpr float kFirst = 2 * 0.797884560802865356f * kLog2E, kThird = kFirst * 0.044715f;  // 2 sqrt(2/pi) log2(e)
    return reciprocal(1.0f + exp2_of(fmaf(a * a, kThird, kFirst) * a));
  }
}

template <Form kForm>
__device__ float gelu(float t) {
  constexpr float kFar = 32;  // there the tail is 0, which infinity must not meet
  float right;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(right) : "f"(t), "f"(0.0f));
  const float a = fminf(fabsf(t), kFar);
  return fmaf(-a, tail<kForm>(a), right);
}

template <Form kForm>
__device__ double gelu(double t) {
  const double a = fabs(t);
  if (!(a < 64)) return t > 0 ? t : t < 0 ? -0.0 : t;  // the tail is 0; NaN stays
  double h;
  if constexpr (kForm == Form::erf) {
    h = 0.5 * erfc(a * 0.70710678118654752440);
  } else {
    h = 1 / (1 + exp(2 * 0.79788456080286535588 * (a + 0.044715 * a * a * a)));
  }
  return fma(-a, h, t > 0 ? t : 0.0);
}

inline constexpr int kThreads = 256;
inline constexpr int kRowsAThread = 8;  // over which a thread's bias is read once

// kColumns neighbours of a row, moved at once: a chunk, or one element where a tensor does not allow that.
template <class T, int kColumns>
struct Unit {
  static constexpr int kInFlight = 4;  // rows
  Chunk<T> values;
  __device__ void load(const T* from) { values = load_constant(from); }
  __device__ void widen_to(ComputeOf<T> (&to)[kColumns]) const { widen_all(values, to); }
  static __device__ void store(T* to, const ComputeOf<T> (&from)[kColumns]) {
    store_streaming(to, narrow_all<T>(from));
  }
};
template <class T>
struct Unit<T, 1> {
  static constexpr int kInFlight = 8;
  T value;
  __device__ void load(const T* from) { value = *from; }
  __device__ void widen_to(ComputeOf<T> (&to)[1]) const { to[0] = widen(value); }
  static __device__ void store(T* to, const ComputeOf<T> (&from)[1]) { *to = narrow<T>(from[0]); }
};

// A block takes a panel of blockDim.x units and goes down bands of blockDim.y * kRowsAThread rows.
template <class T, Form kForm, int kColumns>
__global__ void __launch_bounds__(kThreads, 4) bias_gelu(BiasGeluRows p) {
  using C = ComputeOf<T>;
  using Moved = Unit<T, kColumns>;
  constexpr int kInFlight = Moved::kInFlight;
  const T* const biases = static_cast<const T*>(p.bias.data);
  const int64_t next_x = p.x.stride * blockDim.y, next_y = p.y.stride * blockDim.y;
  for (int64_t unit = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; unit * kColumns < p.cols;
       unit += int64_t{gridDim.x} * blockDim.x) {
    const int64_t column = unit * kColumns;
    const int count = static_cast<int>(min(p.cols - column, int64_t{kColumns}));
    C bias[kColumns];
#pragma unroll
    for (int e = 0; e < kColumns; ++e) bias[e] = e < count ? C(widen(biases[column + e])) : C(0);
    for (int64_t band = blockIdx.y; band * kRowsAThread * blockDim.y < p.rows; band += gridDim.y) {
      const int64_t first = band * kRowsAThread * blockDim.y + threadIdx.y;
      // Of this thread's rows, which are blockDim.y apart, those that are there: u * blockDim.y < left.
      const int left = static_cast<int>(min(p.rows - first, int64_t{kRowsAThread} * blockDim.y));
      const int apart = static_cast<int>(blockDim.y);
      const T* x = static_cast<const T*>(p.x.data) + first * p.x.stride + column;
      T* y = static_cast<T*>(p.y.data) + first * p.y.stride + column;
      if (count < kColumns) {
        for (int u = 0; u * apart < left && u < kRowsAThread; ++u, x += next_x, y += next_y) {
          for (int e = 0; e < count; ++e) {
            y[e] = narrow<T>(gelu<kForm>(Add()(C(widen(x[e])), C(widen(biases[column + e])))));
          }
        }
        continue;
      }
#pragma unroll 1
      for (int begin = 0; begin < kRowsAThread && begin * apart < left; begin += kInFlight) {
        Moved loaded[kInFlight];
#pragma unroll
        for (int u = 0; u < kInFlight; ++u, x += next_x) {
          if ((begin + u) * apart < left) loaded[u].load(x);
        }
#pragma unroll
        for (int u = 0; u < kInFlight; ++u, y += next_y) {
          if ((begin + u) * apart >= left) continue;
          C values[kColumns];
          loaded[u].widen_to(values);
#pragma unroll
          for (int e = 0; e < kColumns; ++e) values[e] = gelu<kForm>(Add()(values[e], bias[e]));
          Moved::store(y, values);
        }
      }
    }
  }
}

struct Plan {
  Element element;
  Form form;
};

std::shared_ptr<void> plan(const Call& c) {
  return std::make_shared<Plan>(Plan{element_of(c, "x"), c.word("form") == "tanh" ? Form::tanh : Form::erf});
}

BiasGeluRows rows_in(const Call& c) {
  const Element element = element_of(c, "x");
  return {.x = rows_of<const void*>(c, "x", element),
          .bias = rows_of<const void*>(c, "bias", element),
          .y = rows_of<void*>(c, "y", element),
          .rows = c.axis("rows"),
          .cols = c.axis("cols")};
}

const char* refuse(const Call& c) {
  rows_in(c);
  return nullptr;
}

template <class T, Form kForm, int kColumns>
void launch_by(const BiasGeluRows& p, cudaStream_t stream) {
  const int64_t units = (p.cols + kColumns - 1) / kColumns;
  const int lanes = 1 << log2_up(std::min<int64_t>(units, kThreads));
  const int64_t height = int64_t{kThreads / lanes} * kRowsAThread;
  const int64_t panels = (units + lanes - 1) / lanes, bands = (p.rows + height - 1) / height;
  const dim3 blocks(static_cast<unsigned>(std::min(panels, kMostBlocks)),
                    static_cast<unsigned>(std::min<int64_t>(bands, 65535)));
  bias_gelu<T, kForm, kColumns><<<blocks, dim3(lanes, kThreads / lanes), 0, stream>>>(p);
}

template <class T, Form kForm>
void launch_form(const BiasGeluRows& p, cudaStream_t stream) {
  constexpr int kWidth = kPerChunk<T>;
  const auto allows = [&](const void* data, int64_t stride) {
    return is_aligned(data) && (stride % kWidth == 0 || p.rows == 1);
  };
  if (allows(p.x.data, p.x.stride) && allows(p.y.data, p.y.stride)) {
    launch_by<T, kForm, kWidth>(p, stream);
  } else {
    launch_by<T, kForm, 1>(p, stream);
  }
}

const char* launch(const Call& c) {
  const BiasGeluRows p = rows_in(c);
  if (p.rows == 0 || p.cols == 0) return nullptr;
  const Plan& plan = c.plan<Plan>();
  with_element(plan.element, [&]<class T>() {
    plan.form == Form::tanh ? launch_form<T, Form::tanh>(p, c.stream()) : launch_form<T, Form::erf>(p, c.stream());
  });
  return last_launch_error();
}

void describe(const Call& c, const Describe& emit) {
  const Plan& plan = c.plan<Plan>();
  const bool library = plan.element == Element::f64;
  emit("algorithm", library ? "tail by the library's erfc and exp" : "tail by exp2 and reciprocal");
  emit("reduction", "none");
}

constexpr assay_contract contract(int32_t accumulator, int32_t exp_kind) {
  return {.interface_version = 1,
          .owner = kOwner,
          .domain = "dtype in f64 f32 f16 bf16",
          .promises = kPromises,
          .arithmetic = {.accumulator = accumulator,
                         .depth_divisor = kAnyLength,
                         .depth_constant = 1,
                         .split_k = 1,
                         .partial_type = accumulator,
                         .exp_kind = exp_kind},
          .nan_policy = ASSAY_NAN_PROPAGATES};
}

const assay_contract* plan_contract(const Call& c) {
  static constexpr assay_contract kDouble = contract(ASSAY_ACC_F64, ASSAY_EXP_ACCURATE);
  return c.plan<Plan>().element == Element::f64 ? &kDouble : nullptr;
}

ASSAY_KERNEL(bias_gelu, simt, .target = "cuda", .refuse = refuse, .plan = plan, .launch = launch, .describe = describe,
             .plan_contract = plan_contract, .contract = contract(ASSAY_ACC_F32, ASSAY_EXP_BASE2))

}  // namespace
}  // namespace assay::simt
