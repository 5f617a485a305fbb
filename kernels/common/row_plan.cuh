// Who works on a row of `cols` elements, decided by its length and type alone: the fewest threads that hold the row in
// registers, or a block that walks along it. To add a way: a Way, its place in plan_rows() and in with_team().
#pragma once

#include <assay/kernel.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <limits>

#include "common/chunk.cuh"
#include "common/elements.h"
#include "common/team.cuh"

namespace assay::simt {

using namespace kernels;

inline constexpr uint32_t kPromises = ASSAY_SAME_RUN | ASSAY_SAME_RESTART | ASSAY_SAME_ALIGNMENT | ASSAY_SAME_BATCH |
                                      ASSAY_SAME_PADDING | ASSAY_SAME_STREAM | ASSAY_SAME_LOAD | ASSAY_SAME_ORDER;

enum class Way { lane, lanes4, lanes16, warp1, warp2, block2, block, walk };

inline constexpr int kLaneThreads = LaneTeam<32>::kMostThreads;  // a block of teams that are part of a warp
inline constexpr int kMostWalkThreads = 1024;
inline constexpr int64_t kTwoBlocksRowBytes = 104 << 10;  // rows up to here leave room for a second block beside them
template <class T>
inline constexpr int kWalked = sizeof(T) == 2 ? 2 : 4;  // chunks a thread and step

// The kernel that a plan last allowed more shared memory than all may use. Allowing it takes memory of the host, which
// a launch is not to do each time.
struct Allowance {
  Allowance() = default;
  Allowance(const Allowance&) {}
  mutable std::atomic<const void*> kernel{nullptr};
};

struct RowPlan {
  Element element;
  Way way;
  int held;                   // chunks a thread, where it walks at each step
  int threads;                // a block
  int64_t rows_at_once;       // by a block
  int64_t kept_stripes = 0;   // of a row that is walked along, in shared memory of
  int64_t shared_bytes = 0;   // beside the stage
  int64_t most_shared = 0;    // of any plan on this device: what the kernel is allowed, which its plans have in common
  assay_contract contract{};  // in force for this length
  Allowance allowance{};

  int64_t stage_bytes() const { return int64_t{threads} / 32 * 512; }  // of shared memory; see RowWriter
};

inline int log2_up(int64_t n) {
  int log = 0;
  while ((int64_t{1} << log) < n) ++log;
  return log;
}

// What the calling thread's device has of `attribute`; 0 where it does not say.
inline int device_has(cudaDeviceAttr attribute) {
  int device = 0, value = 0;
  if (cudaGetDevice(&device) == cudaSuccess && cudaDeviceGetAttribute(&value, attribute, device) == cudaSuccess) {
    return value;
  }
  cudaGetLastError();
  return 0;
}

// `held`: chunks that a thread of a block holds. At most 32 values leave room for enough threads to keep memory busy.
inline RowPlan plan_rows(Element element, int64_t cols, int held) {
  const int64_t per_chunk = 16 / bytes_of(element);
  const int64_t chunks = (cols + per_chunk - 1) / per_chunk;
  const auto threads_for = [&](int64_t chunks_a_thread) {
    return static_cast<int>((chunks + 32 * chunks_a_thread - 1) / (32 * chunks_a_thread) * 32);
  };
  const auto lanes = [&](Way way, int a_row, int held_by_lane) {
    return RowPlan{element, way, held_by_lane, kLaneThreads, kLaneThreads / a_row};
  };
  if (chunks <= 1) return lanes(Way::lane, 1, 1);
  if (chunks <= 4) return lanes(Way::lanes4, 4, 1);
  if (chunks <= 16) return lanes(Way::lanes16, 16, 1);
  if (chunks <= 32) return lanes(Way::warp1, 32, 1);
  if (chunks <= 64) return lanes(Way::warp2, 32, 2);
  const bool wastes_less = threads_for(2) * 2 < threads_for(held) * held;
  if (wastes_less && threads_for(2) <= BlockTeam::kMostThreads) return {element, Way::block2, 2, threads_for(2), 1};
  if (chunks <= BlockTeam::kMostThreads * held) {
    return {element, Way::block, held, threads_for(held), 1};
  }
  const int walked = bytes_of(element) == 2 ? kWalked<__half> : kWalked<float>;
  const int walkers = chunks * 16 <= kTwoBlocksRowBytes ? kMostWalkThreads / 2 : kMostWalkThreads;
  return {element, Way::walk, walked, walkers, 1};
}

// Lets a block that walks keep as many whole steps of its row in shared memory, at `value_bytes` an element, as the
// device has room for.
inline void keep_in_shared_memory(RowPlan& plan, int64_t cols, int64_t value_bytes) {
  constexpr int64_t kOwnBytes = 2048;  // what kernels have beside it
  const int64_t step_elements = int64_t{plan.held} * plan.threads * (16 / bytes_of(plan.element));
  const int64_t steps = (cols + step_elements - 1) / step_elements, step_bytes = step_elements * value_bytes;
  plan.most_shared = std::max<int64_t>(0, device_has(cudaDevAttrMaxSharedMemoryPerBlockOptin) - kOwnBytes);
  int64_t room = plan.most_shared;
  if (plan.threads < kMostWalkThreads) {
    room = std::min<int64_t>(room, device_has(cudaDevAttrMaxSharedMemoryPerMultiprocessor) / 2 -
                                       device_has(cudaDevAttrReservedSharedMemoryPerBlock) - kOwnBytes);
  }
  const int64_t kept = std::min(steps, std::max<int64_t>(0, room - plan.stage_bytes()) / step_bytes);
  plan.kept_stripes = kept * plan.held;
  plan.shared_bytes = kept * step_bytes;
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
  if (plan.way == Way::walk) return {plan.threads * values, held + 10};
  if (plan.way == Way::block || plan.way == Way::block2) return {kAnyLength, held + 10};
  return {kAnyLength, held + 5};
}

inline int32_t accumulator_of(Element element) { return element == Element::f64 ? ASSAY_ACC_F64 : ASSAY_ACC_F32; }

inline const assay_contract* contract_of_plan(const Call& c) { return &c.plan<RowPlan>().contract; }

inline void describe_rows(const RowPlan& plan, const Describe& emit) {
  static constexpr const char* kNames[] = {"a thread", "4 lanes", "16 lanes", "a warp",
                                           "a warp",   "a block", "a block",  "a block, in steps"};
  emit("tile", std::string(kNames[static_cast<int>(plan.way)]) + " a row, " + std::to_string(plan.threads) +
                   " threads a block");
  emit("reduction", "pairwise over a chunk of 16 bytes, a thread, a warp, a block");
}

// Calls with.template operator()<Team, chunks a thread holds>(), which is 0 for a block that walks.
template <int kHeld, class With>
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
    case Way::block2:
      return with.template operator()<BlockTeam, 2>();
    case Way::block:
      return with.template operator()<BlockTeam, kHeld>();
    case Way::walk:
      return with.template operator()<BlockTeam, 0>();
  }
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

// Whether each row of the tensor, or the one that every row reads, starts at 16 bytes.
template <class Pointer>
bool is_whole(const Rows<Pointer>& tensor, Element element) {
  return is_aligned(tensor.data) && tensor.stride % (16 / bytes_of(element)) == 0;
}

// Calls with.template operator()<how rows of `cols` elements are accessed>(). `whole`: all of them start at 16 bytes.
template <class T, class With>
void with_access(int64_t cols, bool whole, const With& with) {
  if (cols % kPerChunk<T> == 0) {
    return whole ? with.template operator()<Access::whole>() : with.template operator()<Access::askew>();
  }
  if constexpr (sizeof(T) == 2) {
    if (cols % 2 == 0) return with.template operator()<Access::pairs>();
  }
  with.template operator()<Access::elements>();
}

inline constexpr int64_t kMostBlocks = int64_t{1} << 27;  // kernels walk over the rows that are left

// Starts kernel(arguments) with a block or a part of one for each row. 512 bytes of shared memory a warp come first.
template <class Arguments>
void launch_rows(const RowPlan& plan, int64_t rows, cudaStream_t stream, void (*kernel)(Arguments),
                 const Arguments& arguments) {
  constexpr size_t kGrantedBytes = 47 << 10;  // of 48 KiB, some of which kernels use themselves
  const auto shared_bytes = static_cast<size_t>(plan.stage_bytes() + plan.shared_bytes);
  const auto* const address = reinterpret_cast<const void*>(kernel);
  if (shared_bytes > kGrantedBytes && plan.allowance.kernel.load() != address) {
    cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(plan.most_shared));
    plan.allowance.kernel.store(address);
  }
  const int64_t blocks = std::min((rows + plan.rows_at_once - 1) / plan.rows_at_once, kMostBlocks);
  kernel<<<static_cast<unsigned>(blocks), plan.threads, shared_bytes, stream>>>(arguments);
}

}  // namespace assay::simt
