// Our int8 product for Hopper's matrix units: exact 32-bit sums by wgmma, made and fed as gemm's (gemm/hopper.cu), and
// requantized as they are stored. B that does not run along K is packed first; what zero points add is computed
// beforehand (line_terms.cuh). Sums are modulo 2^32: the op keeps results within 32 bits, whatever intermediate sums
// do.
#include "gemm/hopper_launch.cuh"
#include "gemm_int8/line_terms.cuh"

namespace assay::gemm_int8 {

struct Requantized {
  using Row = uint32_t;  // its term
  struct Columns {
    int4 bits;  // two of Column
    __device__ uint32_t term(int e) const { return uint32_t(e == 0 ? bits.y : bits.w); }
    __device__ float scale(int e) const { return __int_as_float(e == 0 ? bits.x : bits.z); }
  };
  const uint32_t* row_terms;   // null: there are none
  const Column* column_terms;  // of an even number of columns
  const double* scales;
  int64_t last_row, last_pair;
  int zero_y;

  __device__ Row row(int64_t i) const { return row_terms == nullptr ? 0 : __ldg(row_terms + min(i, last_row)); }
  __device__ Columns columns(int64_t j) const {
    return {__ldg(reinterpret_cast<const int4*>(column_terms + min(j, last_pair)))};
  }
  __device__ int8_t quick(int32_t sum, Row row, const Columns& columns, int e, const int8_t*, bool& doubtful) const {
    const auto total = int32_t(uint32_t(sum) + row + columns.term(e));
    int8_t y;
    doubtful = !requantize_quickly(total, columns.scale(e), zero_y, y);
    return y;
  }
  __device__ int8_t precise(int32_t sum, Row row, const Columns& columns, int64_t column) const {
    const auto total = int32_t(uint32_t(sum) + row + columns.term(int(column % 2)));
    return requantize(total, __ldg(scales + min(column, last_pair + 1)), zero_y);
  }
};

}  // namespace assay::gemm_int8

namespace {

using namespace assay::cuda_gemm;
using assay::Call;
using assay::gemm_int8::Column;
using assay::gemm_int8::Requantized;

using Product = Variant<int8_t, int8_t, Requantized, 256, true, true, false>;

struct Plan : HopperPlan {
  Lines lines_a, lines_b;  // as given
  uint32_t zero_a = 0, zero_b = 0;
  int zero_y = 0;
  bool per_channel = false;
  int64_t rows_at = 0, columns_at = 0, scales_at = 0, workspace_bytes = 0;
};

// Operands that must be packed share what the terms leave.
void lay_out_workspace(const Call& call, Plan& plan) {
  const auto aligned = [](int64_t bytes) { return round_up(bytes, kWorkspaceAlignment); };
  const int64_t row_bytes = aligned(plan.zero_b == 0 ? 0 : plan.m * int64_t{sizeof(uint32_t)});
  const int64_t column_bytes = aligned(round_up(plan.n, 2) * int64_t{sizeof(Column)});
  const int64_t scale_bytes = aligned(round_up(plan.n, 2) * int64_t{sizeof(double)});
  const int64_t left = kWorkspaceLimit - row_bytes - column_bytes - scale_bytes;
  const int64_t piece_bytes = left / 2 / kWorkspaceAlignment * kWorkspaceAlignment;
  plan.operand_a = operand<int8_t>(call, "a", plan.a, plan.m, plan.k, 1, piece_bytes);
  plan.operand_b = operand<int8_t>(call, "b", plan.b, plan.n, plan.k, 1, piece_bytes);
  plan.rows_at = plan.operand_a.workspace_bytes + plan.operand_b.workspace_bytes;
  plan.columns_at = plan.rows_at + row_bytes;
  plan.scales_at = plan.columns_at + column_bytes;
  plan.workspace_bytes = plan.scales_at + scale_bytes;
}

std::shared_ptr<void> make_plan(const Call& call) {
  call.in<int8_t>("a"), call.in<int8_t>("b"), call.out<int8_t>("y");
  for (const char* scale : {"scale_a", "scale_b", "scale_y"}) call.in<float>(scale);
  auto plan = std::make_shared<Plan>();
  plan->m = call.axis("m");
  plan->n = call.axis("n");
  plan->k = call.axis("k");
  plan->a = matrix(call, "a", false);
  plan->b = matrix(call, "b", call.word("tb") == "n");
  plan->c = matrix(call, "y", false);
  plan->zero_a = uint32_t(call.axis("za"));
  plan->zero_b = uint32_t(call.axis("zb"));
  plan->zero_y = int(call.axis("zy"));
  plan->per_channel = call.word("scales") == "channel";
  plan->multiprocessors = multiprocessors();
  plan->encode = encode_tiled();
  plan->lines_a = lines(call, "a", plan->a, plan->m, plan->k, 1, 1);
  plan->lines_b = lines(call, "b", plan->b, plan->n, plan->zero_a == 0 ? 0 : plan->k, 1, 1);
  plan->wide_stores = takes_wide_stores(*plan, call.tensor("y").alignment, 1);
  lay_out_workspace(call, *plan);
  allow_shared_memory<Product>();
  return plan;
}

assay_workspace workspace(const Call& call) {
  return {uint64_t(call.plan<Plan>().workspace_bytes), uint64_t{kWorkspaceAlignment}, ASSAY_WORKSPACE_ANY};
}

void launch_terms(const Call& call, const Plan& plan, uint32_t* rows, Column* columns, double* scales) {
  using namespace assay::gemm_int8;
  const dim3 threads(kLanes, kLineWarps);
  const auto blocks = [&](int64_t lines, int64_t of_block) {
    return unsigned(std::min<int64_t>(ceil_div(lines, of_block), int64_t{plan.multiprocessors} * 8));
  };
  const cudaStream_t stream = call.stream();
  Lines a = plan.lines_a, b = plan.lines_b;
  a.data = address(call, "a");
  b.data = address(call, "b");
  const Scales given{call.in<float>("scale_a").data(), call.in<float>("scale_b").data(),
                     call.in<float>("scale_y").data(), plan.per_channel};
  if (plan.zero_b != 0) row_terms<<<blocks(plan.m, kLineWarps), threads, 0, stream>>>(a, -plan.zero_b, rows);
  const bool along_k = plan.b.column_stride == 1;
  const auto terms = along_k ? column_terms<true> : column_terms<false>;
  const uint32_t constant = uint32_t(plan.k) * plan.zero_a * plan.zero_b;
  terms<<<blocks(plan.n, along_k ? kLineWarps : kLanes), threads, 0, stream>>>(b, given, -plan.zero_a, constant,
                                                                               columns, scales);
}

const char* launch(const Call& call) {
  const Plan& plan = call.plan<Plan>();
  if (plan.is_empty()) return nullptr;
  auto* base = static_cast<std::byte*>(call.workspace());
  auto* rows = reinterpret_cast<uint32_t*>(base + plan.rows_at);
  auto* columns = reinterpret_cast<Column*>(base + plan.columns_at);
  auto* scales = reinterpret_cast<double*>(base + plan.scales_at);
  launch_terms(call, plan, rows, columns, scales);
  const auto finish_at = [&](int64_t i, int64_t j) {
    return Requantized{.row_terms = plan.zero_b == 0 ? nullptr : rows + i,
                       .column_terms = columns + j,
                       .scales = scales + j,
                       .last_row = plan.m - i - 1,
                       .last_pair = (plan.n - j - 1) / 2 * 2,
                       .zero_y = plan.zero_y};
  };
  return launch_pieces<Product>(plan, address(call, "a"), address(call, "b"), address(call, "y"), base, call.stream(),
                                finish_at);
}

void describe(const Call& call, const assay::Describe& emit) {
  const Plan& plan = call.plan<Plan>();
  emit("algorithm", "wgmma m64n256k32");
  emit("tile", "128x256x128");
  emit("stages", "4");
  emit("split_k", "1");
  emit("load_a", plan.operand_a.packed ? "packed, then bulk copies" : "bulk copies");
  emit("load_b", plan.operand_b.packed ? "packed, then bulk copies" : "bulk copies");
}

const char* unavailable() { return needs_compute_capability(9, 9, "needs compute capability 9.0"); }

}  // namespace

// Within the domain every result fits 32 bits: differences are within +-255, or +-128 without zero points. Terms of
// rows (4 bytes) and columns (16) leave at least 32 MiB of the workspace for each packed operand, of which a tile's
// lines take 16 at most.
ASSAY_KERNEL(gemm_int8, hopper, .target = "cuda", .plan = make_plan, .workspace = workspace, .launch = launch,
             .describe = describe, .unavailable = unavailable,
             .contract = {.interface_version = 1,
                          .owner = kOwner,
                          .domain = "dtype in i8; m <= 33554432; n <= 4194304; k <= 33025; za >= -128; za <= 127;"
                                    " zb >= -128; zb <= 127"
                                    " | dtype in i8; m <= 33554432; n <= 4194304; k <= 131071; za == 0; zb == 0",
                          .promises = kPromises | ASSAY_SAME_ZEROS,
                          .arithmetic = {.accumulator = ASSAY_ACC_I32, .split_k = 1, .intermediate = ASSAY_ACC_F64},
                          .nan_policy = ASSAY_NAN_UNSPECIFIED,
                          .workspace_limit = kWorkspaceLimit,
                          .alignment = kAlignment})
