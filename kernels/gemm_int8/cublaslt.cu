// gemm_int8 by cuBLASLt: int8 products summed exactly in int32, then requantized by a kernel of ours, so many rows at a
// time as the workspace has room for. The library takes int8 matrices in one layout alone: A as [m, k] and B as [n, k],
// n, k and leading dimensions multiples of 4, addresses of 4 bytes (cuBLAS documentation, cublasLtMatmul(), "IMMA
// kernels"). Any other operand is first copied into that layout, padded with zeros, which is reported.
#include <optional>

#include "cublaslt.cuh"

namespace {

constexpr int64_t kMultiple = 4;                  // of n, k and leading dimensions, and bytes of an address
constexpr int64_t kPackedMultiple = 16;           // of copies
constexpr int64_t kRowBytes = int64_t{64} << 20;  // of the workspace for rows of A and of the product
constexpr int kThreads = 256;
constexpr int kTile = 32;

int64_t round_up(int64_t n, int64_t multiple) { return (n + multiple - 1) / multiple * multiple; }

// An operand as the library gets it: rows of k numbers, `stride` apart, in the caller's tensor or in the workspace.
struct Operand {
  const char* name;
  bool transposed;         // the tensor holds it as [k, rows]
  std::string why_packed;  // empty: used as it is
  int64_t rows, stride;
  uint64_t offset = 0;      // in the workspace, when packed
  uint64_t sum_offset = 0;  // of the sums of its rows, where a zero point asks for them
  bool summed = false;
};

struct Plan {
  Operand a, b;
  int64_t columns = 0;                           // of the product: n rounded up; what lies beyond n is never read
  int64_t rows = 0;                              // of A at a time
  std::optional<cublaslt::Matmul> matmul, last;  // of so many rows and of what is left; none: nothing to write
  uint64_t product = 0, library = 0, bytes = 0;  // offsets in the workspace, and its size
};

std::string why_packed(const assay_tensor& t, bool transposed, int64_t rows, bool is_b) {
  const auto odd = [](const char* what, int64_t n) {
    return std::string(what) + " = " + std::to_string(n) + " is no multiple of 4";
  };
  if (transposed) return "stored as [k, n]";
  if (t.dl.shape[1] % kMultiple != 0) return odd("k", t.dl.shape[1]);
  if (is_b && rows % kMultiple != 0) return odd("n", rows);
  if (t.dl.strides[0] % kMultiple != 0) return odd("its leading dimension", t.dl.strides[0]);
  if (t.alignment < kMultiple) return "its address is no multiple of 4";
  return "";
}

Operand operand_of(const assay::Call& c, const char* name, bool transposed, bool summed) {
  const assay_tensor& t = c.tensor(name);
  const bool is_b = *name == 'b';
  Operand o{.name = name, .transposed = transposed, .rows = t.dl.shape[transposed ? 1 : 0], .summed = summed};
  o.why_packed = why_packed(t, transposed, o.rows, is_b);
  o.stride = o.why_packed.empty() ? t.dl.strides[0] : round_up(c.axis("k"), kPackedMultiple);
  return o;
}

cublaslt::Problem problem_of(const assay::Call& c, const Plan& plan, int64_t rows) {
  // Copies are padded with zeros, so that both operands may be taken to be longer.
  const int64_t k = c.axis("k") % kMultiple == 0 ? c.axis("k") : plan.a.stride;
  const auto matrix = [&](const Operand& o, int64_t of_rows) {
    const uint64_t alignment = o.why_packed.empty() ? c.tensor(o.name).alignment : cublaslt::kWorkspaceAlignment;
    return cublaslt::Matrix{
        .type = CUDA_R_8I, .rows = of_rows, .cols = k, .stride = o.stride, .batch_stride = 0, .alignment = alignment};
  };
  cublaslt::Problem problem{.compute = CUBLAS_COMPUTE_32I,
                            .scale = CUDA_R_32I,
                            .batch = 1,
                            .a = matrix(plan.a, rows),
                            .b = matrix(plan.b, plan.columns),
                            .c = {.type = CUDA_R_32I,
                                  .rows = rows,
                                  .cols = plan.columns,
                                  .stride = plan.columns,
                                  .batch_stride = 0,
                                  .alignment = cublaslt::kWorkspaceAlignment}};
  problem.b.transposed = true;
  return problem;
}

std::shared_ptr<void> plan(const assay::Call& c) {
  auto plan = std::make_shared<Plan>();
  const int64_t m = c.axis("m"), n = c.axis("n");
  if (m == 0 || n == 0) return plan;
  const auto reserve = [&plan](int64_t bytes) {
    const uint64_t at = plan->bytes;
    plan->bytes += static_cast<uint64_t>(round_up(bytes, cublaslt::kWorkspaceAlignment));
    return at;
  };
  plan->a = operand_of(c, "a", false, c.axis("zb") != 0);
  plan->b = operand_of(c, "b", c.word("tb") == "n", c.axis("za") != 0);
  plan->columns = round_up(n, kMultiple);
  const int64_t room = kRowBytes / (plan->columns * 4 + plan->a.stride) / kTile * kTile;
  plan->rows = std::min(m, std::max<int64_t>(room, kTile));
  if (!plan->a.why_packed.empty()) plan->a.offset = reserve(plan->rows * plan->a.stride);
  if (!plan->b.why_packed.empty()) plan->b.offset = reserve(plan->columns * plan->b.stride);
  if (plan->a.summed) plan->a.sum_offset = reserve(plan->rows * 4);
  if (plan->b.summed) plan->b.sum_offset = reserve(n * 4);
  plan->product = reserve(plan->rows * plan->columns * 4);

  const auto& handle = c.made<cublaslt::Handle>();
  plan->matmul.emplace(handle, problem_of(c, *plan, plan->rows));
  uint64_t library = plan->matmul->workspace();
  if (m % plan->rows != 0) {
    plan->last.emplace(handle, problem_of(c, *plan, m % plan->rows));
    library = std::max(library, plan->last->workspace());
  }
  plan->library = reserve(static_cast<int64_t>(library));
  return plan;
}

// out[row, 0 .. stride) = the operand's row, then zeros; rows beyond those of the operand are zeros.
__global__ void pack(const int8_t* in, int64_t in_stride, bool transposed, int64_t rows, int64_t k, int8_t* out,
                     int64_t stride, int64_t out_rows, int64_t tiles_across) {
  __shared__ int8_t tile[kTile][kTile + 1];
  const int64_t row0 = blockIdx.x / tiles_across * kTile, k0 = blockIdx.x % tiles_across * kTile;
  for (int y = threadIdx.y; y < kTile; y += blockDim.y) {
    const int64_t row = row0 + (transposed ? threadIdx.x : y), at = k0 + (transposed ? y : threadIdx.x);
    const bool inside = row < rows && at < k;
    tile[y][threadIdx.x] = inside ? in[transposed ? at * in_stride + row : row * in_stride + at] : 0;
  }
  __syncthreads();
  for (int y = threadIdx.y; y < kTile; y += blockDim.y) {
    if (k0 + threadIdx.x >= stride || row0 + y >= out_rows) continue;
    out[(row0 + y) * stride + k0 + threadIdx.x] = transposed ? tile[threadIdx.x][y] : tile[y][threadIdx.x];
  }
}

// sums[row] = the sum of a row of k numbers; a warp each.
__global__ void sum_rows(const int8_t* in, int64_t stride, int64_t rows, int64_t k, int32_t* sums) {
  const int64_t row = (int64_t{blockIdx.x} * blockDim.x + threadIdx.x) / 32;
  if (row >= rows) return;
  int32_t sum = 0;
  for (int64_t i = threadIdx.x % 32; i < k; i += 32) sum += in[row * stride + i];
  for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_down_sync(0xffffffff, sum, offset);
  if (threadIdx.x % 32 == 0) sums[row] = sum;
}

struct Requantization {
  const int32_t* product;
  const int32_t *sums_a, *sums_b;  // null where no zero point asks for them
  const float *scale_a, *scale_b, *scale_y;
  int64_t m, n, columns, stride_y;
  int32_t k, za, zb, zy;
  bool per_channel;
  int8_t* y;
};

// sum (a - za)(b - zb) = sum a b - za sum b - zb sum a + k za zb, in arithmetic that wraps: the op keeps the result,
// though not every term of it, within int32.
__global__ void requantize(Requantization r) {
  const int64_t at = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (at >= r.m * r.n) return;
  const int64_t i = at / r.n, j = at % r.n;
  uint32_t sum = static_cast<uint32_t>(r.product[i * r.columns + j]);
  if (r.sums_b != nullptr) sum -= static_cast<uint32_t>(r.za) * static_cast<uint32_t>(r.sums_b[j]);
  if (r.sums_a != nullptr) sum -= static_cast<uint32_t>(r.zb) * static_cast<uint32_t>(r.sums_a[i]);
  sum += static_cast<uint32_t>(r.k) * static_cast<uint32_t>(r.za) * static_cast<uint32_t>(r.zb);
  const float scale = *r.scale_a * r.scale_b[r.per_channel ? j : 0] / *r.scale_y;
  const float value = rintf(fmaf(static_cast<float>(static_cast<int32_t>(sum)), scale, static_cast<float>(r.zy)));
  r.y[i * r.stride_y + j] = static_cast<int8_t>(fminf(fmaxf(value, -128.0f), 127.0f));
}

class Launch {
 public:
  explicit Launch(const assay::Call& c) : c_(c), plan_(c.plan<Plan>()), stream_(c.stream()) {}

  const char* run() {
    const int64_t m = c_.axis("m");
    prepare_operand(plan_.b, 0, plan_.b.rows, plan_.columns);
    for (int64_t first = 0; first < m; first += plan_.rows) {
      const int64_t rows = std::min(plan_.rows, m - first);
      prepare_operand(plan_.a, first, rows, rows);
      const cublaslt::Matmul& matmul = rows == plan_.rows ? *plan_.matmul : *plan_.last;
      const int32_t one = 1, zero = 0;
      const char* error = matmul.run(c_.made<cublaslt::Handle>(), stream_, &one, data(plan_.a, first), data(plan_.b, 0),
                                     &zero, at<int32_t>(plan_.product), at<void>(plan_.library));
      if (error == nullptr) error = requantize_rows(first, rows);
      if (error != nullptr) return error;
    }
    return nullptr;
  }

 private:
  static unsigned blocks(int64_t items, int64_t each) { return static_cast<unsigned>((items + each - 1) / each); }

  template <class T>
  T* at(uint64_t offset) const {
    return reinterpret_cast<T*>(static_cast<std::byte*>(c_.workspace()) + offset);
  }
  const int8_t* data(const Operand& o, int64_t first) const {
    if (!o.why_packed.empty()) return at<int8_t>(o.offset);
    return c_.in<int8_t>(o.name).data() + first * o.stride;
  }

  // Copies and sums what of `rows` rows from `first` has to be; a copy gets rows of zeros up to `padded`.
  void prepare_operand(const Operand& o, int64_t first, int64_t rows, int64_t padded) {
    const int64_t k = c_.axis("k");
    if (!o.why_packed.empty()) {
      const auto in = c_.in<int8_t>(o.name);
      const int64_t across = round_up(o.stride, kTile) / kTile;
      pack<<<blocks(padded, kTile) * static_cast<unsigned>(across), dim3(kTile, 8), 0, stream_>>>(
          in.data() + (o.transposed ? first : first * in.stride(0)), in.stride(0), o.transposed, rows, k,
          at<int8_t>(o.offset), o.stride, padded, across);
    }
    if (o.summed) {
      sum_rows<<<blocks(rows * 32, kThreads), kThreads, 0, stream_>>>(data(o, first), o.stride, rows, k,
                                                                      at<int32_t>(o.sum_offset));
    }
  }

  const char* requantize_rows(int64_t first, int64_t rows) {
    const auto y = c_.out<int8_t>("y");
    const Requantization r{.product = at<int32_t>(plan_.product),
                           .sums_a = plan_.a.summed ? at<int32_t>(plan_.a.sum_offset) : nullptr,
                           .sums_b = plan_.b.summed ? at<int32_t>(plan_.b.sum_offset) : nullptr,
                           .scale_a = c_.in<float>("scale_a").data(),
                           .scale_b = c_.in<float>("scale_b").data(),
                           .scale_y = c_.in<float>("scale_y").data(),
                           .m = rows,
                           .n = y.dim(1),
                           .columns = plan_.columns,
                           .stride_y = y.stride(0),
                           .k = static_cast<int32_t>(c_.axis("k")),
                           .za = static_cast<int32_t>(c_.axis("za")),
                           .zb = static_cast<int32_t>(c_.axis("zb")),
                           .zy = static_cast<int32_t>(c_.axis("zy")),
                           .per_channel = c_.word("scales") == "channel",
                           .y = y.data() + first * y.stride(0)};
    requantize<<<blocks(rows * r.n, kThreads), kThreads, 0, stream_>>>(r);
    return assay::last_launch_error();
  }

  const assay::Call& c_;
  const Plan& plan_;
  cudaStream_t stream_;
};

const char* launch(const assay::Call& c) { return c.plan<Plan>().matmul.has_value() ? Launch(c).run() : nullptr; }

assay_workspace workspace(const assay::Call& c) {
  return {c.plan<Plan>().bytes, cublaslt::kWorkspaceAlignment, ASSAY_WORKSPACE_ANY};
}

void describe(const assay::Call& c, const assay::Describe& emit) {
  const Plan& plan = c.plan<Plan>();
  emit("library", cublaslt::version());
  if (!plan.matmul.has_value()) {
    emit("algorithm", "nothing to do");
    return;
  }
  plan.matmul->describe(emit);
  emit("rows_at_a_time", std::to_string(plan.rows));
  for (const Operand* o : {&plan.a, &plan.b}) {
    emit(std::string("packed.") + o->name, o->why_packed.empty() ? "no" : o->why_packed);
  }
}

}  // namespace

// k >= 1: cuBLASLt takes no empty int8 sum. n and k: a copy of B of at most 128 MiB.
ASSAY_KERNEL(gemm_int8, cublaslt, .target = "cuda", .plan = plan, .workspace = workspace, .launch = launch,
             .describe = describe, .create = cublaslt::create,
             .contract = {.interface_version = 1,
                          .owner = "libraries@assay",
                          .domain = "dtype in i8; k >= 1; m <= 2147483647; n <= 16384; k <= 8192 | "
                                    "dtype in i8; k >= 1; m <= 2147483647; n <= 131072; k <= 1024",
                          .promises = ASSAY_SAME_RUN | ASSAY_SAME_RESTART | ASSAY_SAME_STREAM | ASSAY_SAME_ALIGNMENT |
                                      ASSAY_SAME_BATCH | ASSAY_SAME_PADDING | ASSAY_SAME_ORDER | ASSAY_SAME_ZEROS,
                          .arithmetic = {.accumulator = ASSAY_ACC_I32,
                                         .split_k = 1,
                                         .partial_type = ASSAY_ACC_I32,
                                         .intermediate = ASSAY_ACC_F32},
                          .nan_policy = ASSAY_NAN_UNSPECIFIED,
                          .workspace_limit = uint64_t{256} << 20,
                          .alignment = 16,
                          .may_fall_back = 1,
                          .may_allocate = 1})  // the library may take from the host's heap
