// Between a call and its plan: what gemm and gemm_int8 do alike.
#ifndef ASSAY_KERNELS_GEMM_CALL_H
#define ASSAY_KERNELS_GEMM_CALL_H

#include <assay/kernel.h>
#include <omp.h>

#include <memory>
#include <string>

#include "common/rows.h"
#include "gemm/plan.h"

namespace assay::gemm {

// The last two axes of a tensor, whose columns must be contiguous, and the one before them if there is one.
inline Matrix matrix(const Call& call, const char* name, bool transposed) {
  const assay_dltensor& dl = call.tensor(name).dl;
  const int last = dl.ndim - 1;
  if (last < 1) throw Refusal(std::string("tensor '") + name + "' is not a matrix");
  if (dl.shape[last] > 1 && dl.strides[last] != 1) {
    throw Refusal(std::string("tensor '") + name + "' has columns that are not contiguous");
  }
  return {dl.strides[last - 1], last > 1 ? dl.strides[0] : 0, transposed};
}

inline std::byte* address(const Call& call, const char* name) {
  const assay_tensor& tensor = call.tensor(name);
  auto* base = static_cast<std::byte*>(call.pointers()[&tensor - call.raw().tensors]);
  return base == nullptr ? nullptr : base + tensor.dl.byte_offset;
}

inline assay_workspace workspace_of(const Plan& plan) {
  return {uint64_t(plan.scratch_bytes * plan.threads), kScratchAlignment, ASSAY_WORKSPACE_ANY};
}

// Runs every job, each thread in its own part of the workspace.
inline void run_jobs(const Plan& plan, const Operands& operands, void* workspace) {
  auto* scratch = static_cast<std::byte*>(workspace);
  const int64_t jobs = plan.jobs();
  if (plan.threads == 1) {
    for (int64_t job = 0; job < jobs; ++job) plan.micro.run(plan, operands, job, scratch);
    return;
  }
#pragma omp parallel for num_threads(plan.threads) schedule(dynamic, 1)
  for (int64_t job = 0; job < jobs; ++job) {
    std::byte* own = scratch == nullptr ? nullptr : scratch + omp_get_thread_num() * plan.scratch_bytes;
    plan.micro.run(plan, operands, job, own);
  }
}

inline void describe_plan(const Plan& plan, const Describe& emit) {
  const auto size = [](int64_t rows, int64_t columns) { return std::to_string(rows) + "x" + std::to_string(columns); };
  emit("algorithm", !plan.has_product() ? "scale" : plan.reads_b_in_place ? "strip" : "blocked");
  emit("isa", plan.micro.isa);
  emit("tile", size(plan.micro.rows, plan.micro.columns) + " in " + size(plan.tile_rows, plan.tile_columns));
  emit("reduction", "sequential in blocks of " + std::to_string(kDepth));
  emit("split_k", "1");
  emit("workspace", std::to_string(plan.scratch_bytes * plan.threads));
  emit("threads", std::to_string(plan.threads));
}

}  // namespace assay::gemm
#endif
