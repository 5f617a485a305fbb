// Who works on a row of `cols` elements, decided by its length and type alone: the fewest threads that hold the row in
// registers, or a block that walks along it. To add a way: a Way, its place in plan_rows() and in with_team().
#pragma once

#include <assay/kernel.h>

#include <algorithm>
#include <cstdint>
#include <limits>

#include "common/chunk.cuh"
#include "common/elements.h"
#include "common/team.cuh"

namespace assay::simt {

using namespace kernels;

inline constexpr uint32_t kPromises = ASSAY_SAME_RUN | ASSAY_SAME_RESTART | ASSAY_SAME_ALIGNMENT | ASSAY_SAME_BATCH |
                                      ASSAY_SAME_PADDING | ASSAY_SAME_STREAM | ASSAY_SAME_LOAD;

enum class Way { lane, lanes4, lanes16, warp1, warp2, block, cluster, walk };

inline constexpr int kLaneThreads = LaneTeam<32>::kMostThreads;  // a block of teams that are part of a warp
inline constexpr int kWalkThreads = 1024;
template <class T>
inline constexpr int kWalked = sizeof(T) == 2 ? 2 : 4;  // chunks a thread and step

// Chunks that a thread holds: at most 32 values leave room for enough threads to keep memory busy. by_cluster is 0
// where walking along a row is as fast.
struct Held {
  int by_block, by_cluster;
};

struct RowPlan {
  Element element;
  Way way;
  int held;                 // chunks a thread, where it walks at each step
  int threads;              // a block
  int64_t rows_at_once;     // by a block, or by a cluster
  assay_contract contract;  // in force for this length
};

inline int log2_up(int64_t n) {
  int log = 0;
  while ((int64_t{1} << log) < n) ++log;
  return log;
}

// The device in use has clusters of blocks; false too where there is no device, as while a build is tested.
inline bool has_clusters() {
  int device = 0, major = 0;
  const bool known = cudaGetDevice(&device) == cudaSuccess &&
                     cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) == cudaSuccess;
  if (!known) cudaGetLastError();
  return known && major >= 9;
}

inline RowPlan plan_rows(Element element, int64_t cols, Held held) {
  const int64_t per_chunk = 16 / bytes_of(element);
  const int64_t chunks = (cols + per_chunk - 1) / per_chunk;
  const auto threads_for = [&](int64_t chunks_a_thread) {
    return static_cast<int>((chunks + 32 * chunks_a_thread - 1) / (32 * chunks_a_thread) * 32);
  };
  const auto lanes = [&](Way way, int a_row, int held_by_lane) {
    return RowPlan{element, way, held_by_lane, kLaneThreads, kLaneThreads / a_row, {}};
  };
  if (chunks <= 1) return lanes(Way::lane, 1, 1);
  if (chunks <= 4) return lanes(Way::lanes4, 4, 1);
  if (chunks <= 16) return lanes(Way::lanes16, 16, 1);
  if (chunks <= 32) return lanes(Way::warp1, 32, 1);
  if (chunks <= 64) return lanes(Way::warp2, 32, 2);
  if (chunks <= BlockTeam::kMostThreads * held.by_block) {
    return {element, Way::block, held.by_block, threads_for(held.by_block), 1, {}};
  }
  if (chunks <= ClusterTeam::kMostThreads * kClusterBlocks * held.by_cluster && has_clusters()) {
    const int threads = threads_for(int64_t{kClusterBlocks} * held.by_cluster);
    return {element, Way::cluster, held.by_cluster, threads, 1, {}};
  }
  const int walked = bytes_of(element) == 2 ? kWalked<__half> : kWalked<float>;
  return {element, Way::walk, walked, kWalkThreads, 1, {}};
}

// Depth of a summation tree as contracts declare it: ceil(n / divisor) + constant.
struct Depth {
  int32_t divisor, constant;
};
inline constexpr int32_t kAnyLength = std::numeric_limits<int32_t>::max();  // ceil(n / kAnyLength) is 1
inline constexpr Depth kLeastPromisedDepth{8192, 48};                       // holds of every plan

// Of a row's sum: a chunk pairwise, a thread's chunks pairwise and, where it walks, step by step, the threads pairwise.
inline Depth depth_of(const RowPlan& plan) {
  const int values = plan.held * (16 / static_cast<int>(bytes_of(plan.element)));
  const int held = log2_up(values);
  if (plan.way == Way::walk) return {kWalkThreads * values, held + 10};
  if (plan.way == Way::block) return {kAnyLength, held + 10};
  return {kAnyLength, plan.way == Way::cluster ? held + 10 + log2_up(kClusterBlocks) : held + 5};
}

inline int32_t accumulator_of(Element element) { return element == Element::f64 ? ASSAY_ACC_F64 : ASSAY_ACC_F32; }

inline const assay_contract* contract_of_plan(const Call& c) { return &c.plan<RowPlan>().contract; }

inline void describe_rows(const RowPlan& plan, const Describe& emit) {
  static constexpr const char* kNames[] = {"a thread", "4 lanes", "16 lanes", "a warp",
                                           "a warp",   "a block", "8 blocks", "a block, in steps"};
  emit("tile", std::string(kNames[static_cast<int>(plan.way)]) + " a row, " + std::to_string(plan.threads) +
                   " threads a block");
  emit("reduction", "pairwise over a chunk of 16 bytes, a thread, a warp, a block, a cluster");
}

// Calls with.template operator()<Team, chunks a thread holds>(), which is 0 for a block that walks.
template <int kByBlock, int kByCluster, class With>
void with_team(Way way, const With& with) {
  switch (way) {
    case Way::lane:
      return with.template operator()<LaneTeam<1>, 1>();
    case Way::lanes4:
      return with.template operator()<LaneTeam<4>, 1>();
    case Way::lanes16:
      return with.template operator()<LaneTeam<16>, 1>();
    case Way::warp1:
      return with.template operator()<LaneTeam<32>, 1>();
    case Way::warp2:
      return with.template operator()<LaneTeam<32>, 2>();
    case Way::block:
      return with.template operator()<BlockTeam, kByBlock>();
    case Way::cluster:
      if constexpr (kByCluster > 0) with.template operator()<ClusterTeam, kByCluster>();
      return;
    case Way::walk:
      return with.template operator()<BlockTeam, 0>();
  }
}

// How all rows of the tensors may be accessed: of two dimensions, or one that every row reads.
template <class Pointer>
bool is_whole(const Rows<Pointer>& tensor, int64_t cols, Element element) {
  const int64_t width = 16 / bytes_of(element);
  return is_aligned(tensor.data) && tensor.stride % width == 0 && cols % width == 0;
}

// Calls with.template operator()<T>() for the element's CUDA type.
template <class With>
void with_element(Element element, const With& with) {
  switch (element) {
    case Element::f64:
      return with.template operator()<double>();
    case Element::f32:
      return with.template operator()<float>();
    case Element::f16:
      return with.template operator()<__half>();
    case Element::bf16:
      return with.template operator()<__nv_bfloat16>();
  }
}

inline constexpr int64_t kMostBlocks = int64_t{1} << 27;  // kernels walk over the rows that are left

// Starts kernel(arguments) with a block, a cluster or a part of a block for each row. 512 bytes of shared memory a
// warp.
template <class Arguments>
void launch_rows(const RowPlan& plan, int64_t rows, Stream stream, void (*kernel)(Arguments),
                 const Arguments& arguments) {
  cudaLaunchConfig_t config{};
  const int64_t blocks_a_team = plan.way == Way::cluster ? kClusterBlocks : 1;
  const int64_t teams = std::min((rows + plan.rows_at_once - 1) / plan.rows_at_once, kMostBlocks);
  config.gridDim = dim3(static_cast<unsigned>(teams * blocks_a_team));
  config.blockDim = dim3(plan.threads);
  config.dynamicSmemBytes = plan.threads / 32 * 512;
  config.stream = stream;
  cudaLaunchAttribute cluster{};
  cluster.id = cudaLaunchAttributeClusterDimension;
  cluster.val.clusterDim = {kClusterBlocks, 1, 1};
  config.attrs = &cluster;
  config.numAttrs = plan.way == Way::cluster ? 1 : 0;
  cudaLaunchKernelEx(&config, kernel, arguments);
}

}  // namespace assay::simt
