// Parts of the gemm op shared by its source files: op.cpp (contract), host.cpp (the oracle over whole matrices),
// cases.cpp (what is tried at each tier), probes.cpp (what tells how a kernel computes).
#pragma once

#include <vector>

#include "core/op.h"

namespace assay::gemm {

inline constexpr int kA = 0, kB = 1, kC = 2;  // order of the tensors

Reference evaluate(const Case& c, std::span<const TensorView> tensors, int threads);
std::vector<Case> cases(const Op& op, Tier tier);
Case drawn(const Op& op, uint64_t seed, int64_t index);  // MatrixProductOp::drawn
std::vector<ProbeSet> probes(const Op& op);

}  // namespace assay::gemm
