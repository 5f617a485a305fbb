// A warp takes a block of ErrorSums::kBlock elements at a time, a lane of the warp one of its running sums; whatever
// does not depend on order is counted per thread.
#include <vector>

#include "check/device_accuracy.h"
#include "check/element.h"
#include "core/cuda.cuh"
#include "core/strided.h"

namespace assay {
namespace {

constexpr int kLanes = ErrorSums::kLanes;
constexpr int64_t kBlock = ErrorSums::kBlock;
constexpr int kWarps = kThreads / kLanes;
constexpr int kBlocksEach = 4;  // resident on a processor: as many threads as registers allow
static_assert(kLanes == 32);

constexpr unsigned long long kNone = ~0ull;

// What a launch leaves for the next and for the summary.
struct State {
  ErrorCounts counts;
  WorstElement failure, worst;
  // Of a block that a chunk ended in, by turns: a chunk takes up what the one before left while it leaves its own.
  ErrorSums open[2][kLanes];
};

// The elements one block would show.
struct Candidate {
  double q;
  unsigned long long worst, failure;  // indices; kNone: there is none
};

struct Chunk {
  Strided where;
  const void* got;
  int64_t first, end;
  int turn;  // takes up open[turn], leaves open[1 - turn]
  DeviceReference reference;
  DeviceBounds bounds;
  JudgeRules rules;
};

template <DType T>
__device__ double output_of(const Chunk& chunk, int64_t i) {
  return decode(T, static_cast<const BitsOf<size_of(T)>*>(chunk.got)[chunk.where.offset(i)]);
}

__device__ Expected expected_of(const Chunk& chunk, int64_t i) {
  const int64_t at = i - chunk.first;
  return {chunk.reference.hi[at], chunk.reference.lo[at], chunk.reference.e_ref[at], chunk.bounds.e_alg[at],
          chunk.bounds.evidence[at]};
}

// Rows of shared memory, a column a thread: the histogram, then the other counts.
enum Row { kTiers = kHistogramBins, kVacuous = kTiers + 4, kRounded, kMisrounded, kWithQ, kFailures, kRows };

// What one thread counts. Within a block of elements that is at most 255 of a kind, four kinds to a register.
struct Tally {
  unsigned* column;
  unsigned tiers = 0, kinds = 0;
  Candidate best{0, kNone, kNone};

  __device__ void add(const Judged& j, int64_t i) {
    const auto index = static_cast<unsigned long long>(i);
    tiers += 1u << 8 * static_cast<int>(j.counted);
    kinds += static_cast<unsigned>(j.vacuous) | static_cast<unsigned>(j.rounded) << 8 |
             static_cast<unsigned>(j.misrounded) << 16 | static_cast<unsigned>(j.has_q) << 24;
    if (j.failed) {
      ++column[kFailures * kThreads];
      if (index < best.failure) best.failure = index;
    }
    if (j.has_q) {
      const double q = fabs(j.signed_q);
      ++column[detail::histogram_bin(q) * kThreads];
      if (q > best.q || best.worst == kNone) {  // indices ascend within a thread
        best.q = q;
        best.worst = index;
      }
    }
  }
  __device__ void close_block() {
    static_assert(kBlock / kLanes <= 255 && kVacuous == kTiers + 4);
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      column[(kTiers + k) * kThreads] += tiers >> 8 * k & 255;
      column[(kVacuous + k) * kThreads] += kinds >> 8 * k & 255;
    }
    tiers = kinds = 0;
  }
};

__device__ Candidate better(const Candidate& a, const Candidate& b) {
  Candidate c = a;
  if (b.worst != kNone && (a.worst == kNone || b.q > a.q || (b.q == a.q && b.worst < a.worst))) {
    c.q = b.q;
    c.worst = b.worst;
  }
  if (b.failure < c.failure) c.failure = b.failure;
  return c;
}

__device__ Candidate down(const Candidate& c, int lanes) {
  return {__shfl_down_sync(~0u, c.q, lanes), __shfl_down_sync(~0u, c.worst, lanes),
          __shfl_down_sync(~0u, c.failure, lanes)};
}

template <DType T>
__device__ void judge_block(const Chunk& chunk, int64_t block, State* state, ErrorSums* block_sums, Tally& tally) {
  const int lane = threadIdx.x % kLanes;
  const int64_t begin = block * kBlock, end = begin + kBlock;
  ErrorSums sums;
  if (begin < chunk.first) sums = state->open[chunk.turn][lane];
  if (begin >= chunk.first && end <= chunk.end && chunk.where.is_packed) {
    const auto* got = static_cast<const BitsOf<size_of(T)>*>(chunk.got);
    Expected next = expected_of(chunk, begin + lane);  // on its way while an element is judged
    auto next_got = got[begin + lane];
    for (int64_t i = begin + lane; i < end; i += kLanes) {
      const Expected expected = next;
      const double value = decode(T, next_got);
      if (i + kLanes < end) {
        next = expected_of(chunk, i + kLanes);
        next_got = got[i + kLanes];
      }
      const Judged judged = judge_element<T>(expected, value, chunk.rules);
      sums.add(judged);
      tally.add(judged, i);
    }
  } else {
    for (int64_t i = begin + lane; i < end; i += kLanes) {
      if (i < chunk.first || i >= chunk.end) continue;
      const Judged judged = judge_element<T>(expected_of(chunk, i), output_of<T>(chunk, i), chunk.rules);
      sums.add(judged);
      tally.add(judged, i);
    }
  }
  tally.close_block();
  if (end > chunk.end) {  // the next chunk goes on here, or finish() closes it
    state->open[1 - chunk.turn][lane] = sums;
    return;
  }
#pragma unroll
  for (int half = kLanes / 2; half > 0; half /= 2) {
    sums.add({__shfl_down_sync(~0u, sums.q2, half), __shfl_down_sync(~0u, sums.q, half),
              __shfl_down_sync(~0u, sums.ulps, half)});
  }
  if (lane == 0) block_sums[block] = sums;
}

// The best of a block's threads, given to the first of them.
__device__ Candidate best_of_block(Candidate mine) {
  __shared__ Candidate best[kWarps];
  for (int half = kLanes / 2; half > 0; half /= 2) mine = better(mine, down(mine, half));
  if (threadIdx.x % kLanes == 0) best[threadIdx.x / kLanes] = mine;
  __syncthreads();
  for (int warp = 1; threadIdx.x == 0 && warp < kWarps; ++warp) mine = better(mine, best[warp]);
  return mine;
}

template <DType T>
__global__ void __launch_bounds__(kThreads, kBlocksEach)
    judge(Chunk chunk, State* state, ErrorSums* block_sums, Candidate* candidates) {
  __shared__ unsigned columns[kRows * kThreads];
  Tally tally{columns + threadIdx.x};
  for (int row = 0; row < kRows; ++row) tally.column[row * kThreads] = 0;
  const int64_t warp = int64_t{blockIdx.x} * kWarps + threadIdx.x / kLanes, warps = int64_t{gridDim.x} * kWarps;
  const int64_t last = (chunk.end - 1) / kBlock;
  for (int64_t block = chunk.first / kBlock + warp; block <= last; block += warps) {
    judge_block<T>(chunk, block, state, block_sums, tally);
  }
  const Candidate best = best_of_block(tally.best);  // synchronises
  if (threadIdx.x == 0) candidates[blockIdx.x] = best;
  // A warp sums a row at a time.
  for (int row = threadIdx.x / kLanes; row < kRows; row += kWarps) {
    unsigned sum = 0;
    for (int i = threadIdx.x % kLanes; i < kThreads; i += kLanes) sum += columns[row * kThreads + i];
    sum = __reduce_add_sync(~0u, sum);
    if (threadIdx.x % kLanes != 0 || sum == 0) continue;
    ErrorCounts& counts = state->counts;
    int64_t* const others[] = {&counts.tier[0], &counts.tier[1],    &counts.tier[2], &counts.tier[3], &counts.vacuous,
                               &counts.rounded, &counts.misrounded, &counts.with_q,  &counts.failures};
    int64_t* const total = row < kHistogramBins ? &counts.histogram[row] : others[row - kHistogramBins];
    atomicAdd(reinterpret_cast<unsigned long long*>(total), static_cast<unsigned long long>(sum));
  }
}

// One block: the element to show, of all blocks and of the chunks before.
template <DType T>
__global__ void choose(Chunk chunk, State* state, const Candidate* candidates, int64_t count) {
  Candidate mine{0, kNone, kNone};
  for (int64_t i = threadIdx.x; i < count; i += kThreads) mine = better(mine, candidates[i]);
  mine = best_of_block(mine);
  if (threadIdx.x != 0) return;
  const auto shown = [&](unsigned long long index, double q) {
    const auto i = static_cast<int64_t>(index);
    const double got = output_of<T>(chunk, i);
    const Judged j = judge_element<T>(expected_of(chunk, i), got, chunk.rules);
    return WorstElement{i, q, got, j.want, j.bound};
  };
  if (mine.failure != kNone && state->failure.index < 0) state->failure = shown(mine.failure, 0);
  if (mine.worst != kNone && (state->worst.index < 0 || mine.q > state->worst.q)) {
    state->worst = shown(mine.worst, mine.q);
  }
}

unsigned resident_blocks() {
  int device = 0, processors = 0;
  require_cuda(cudaGetDevice(&device), "accuracy");
  require_cuda(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device), "accuracy");
  return static_cast<unsigned>(processors * kBlocksEach);
}

}  // namespace

DeviceAccuracy::DeviceAccuracy(const TensorSpec& spec, const DeviceOutput& answer, const Contract& contract,
                               void* stream)
    : spec_(spec),
      rules_{.nan_unspecified = contract.nan_policy == ASSAY_NAN_UNSPECIFIED, .bitwise = answer.bitwise},
      stream_(stream),
      blocks_(resident_blocks()),
      state_(sizeof(State)),
      block_sums_(static_cast<size_t>(spec.elements() / kBlock) * sizeof(ErrorSums)),
      candidates_(size_t{blocks_} * sizeof(Candidate)) {
  if (answer.dtype != spec.dtype || answer.tensor != spec.name) {
    throw Error("accuracy of " + spec.name + " (" + std::string(name_of(spec.dtype)) + "): the oracle answers for " +
                answer.tensor + " (" + std::string(name_of(answer.dtype)) + ")");
  }
  const State fresh;
  copy_to_device(state_.data(), &fresh, sizeof fresh, stream);
}

void DeviceAccuracy::judge(const void* got, int64_t first, int64_t count, const DeviceReference& reference,
                           const DeviceBounds& bounds) {
  if (first != judged_) throw Error("accuracy of " + spec_.name + ": chunks do not follow one another");
  judged_ += count;
  if (count == 0) return;
  const Chunk chunk{.where = strided(spec_),
                    .got = got,
                    .first = first,
                    .end = first + count,
                    .turn = turn_,
                    .reference = reference,
                    .bounds = bounds,
                    .rules = rules_};
  auto* state = reinterpret_cast<State*>(state_.data());
  auto* candidates = reinterpret_cast<Candidate*>(candidates_.data());
  with_dtype(spec_.dtype, [&](auto type) {
    constexpr DType T = decltype(type)::value;
    assay::judge<T><<<blocks_, kThreads, 0, stream_of(stream_)>>>(
        chunk, state, reinterpret_cast<ErrorSums*>(block_sums_.data()), candidates);
    require_launched("accuracy");
    choose<T><<<1, kThreads, 0, stream_of(stream_)>>>(chunk, state, candidates, blocks_);
    require_launched("accuracy");
  });
  turn_ = 1 - turn_;
}

ErrorSummary DeviceAccuracy::finish() {
  const int64_t elements = spec_.elements();
  if (judged_ != elements) {
    throw Error("accuracy of " + spec_.name + ": " + std::to_string(judged_) + " of " + std::to_string(elements) +
                " elements were judged");
  }
  State state;
  copy_to_host(&state, state_.data(), sizeof state, stream_);
  std::vector<ErrorSums> blocks(static_cast<size_t>(elements / kBlock));
  copy_to_host(blocks.data(), block_sums_.data(), blocks.size() * sizeof(ErrorSums), stream_);
  ErrorSums sums;
  for (const ErrorSums& block : blocks) sums.add(block);
  if (elements % kBlock != 0) {
    ErrorSums* const open = state.open[turn_];
    for (int half = kLanes / 2; half > 0; half /= 2) {
      for (int lane = 0; lane < half; ++lane) open[lane].add(open[lane + half]);
    }
    sums.add(open[0]);
  }
  ErrorSummary summary{.tensor = spec_.name, .elements = elements};
  summarise(state.counts, sums, state.worst.q, state.counts.failures > 0 ? state.failure : state.worst, summary);
  return summary;
}

}  // namespace assay
