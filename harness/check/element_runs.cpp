#include "check/element_runs.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "check/element.h"
#include "core/clones.h"
#include "core/error.h"

namespace assay {
namespace {

using Run = ElementOracle::Run;
constexpr int64_t kRun = 256;  // elements: what is said of them stays in the first cache
static_assert(kRun <= ElementOracle::kMost && ErrorSums::kBlock % kRun == 0 && kRun % ErrorSums::kLanes == 0);

// What judge_element() says of the elements of a run, an array each.
struct Verdicts {
  static constexpr int64_t kNoQ = -1;

  double q[kRun], ulps[kRun];  // 0: none
  int64_t rank[kRun];          // bits of |q|, which are in its order; kNoQ
  int64_t tally[kRun];         // what it counts as, in fields of 16 bits, so that one sum counts a run
  uint8_t bin[kRun];           // of the histogram; one beyond the last: none
  uint8_t is_open[kRun];       // 1: not certain, and for judge_element()
};

enum Tally : int { kRigorous, kWeak, kVacuous, kMisrounded };
constexpr int64_t one(Tally field) { return int64_t{1} << (16 * field); }
constexpr int64_t count_of(Tally field, int64_t tally) { return tally >> (16 * field) & 0xffff; }
static_assert(kRun < 1 << 15);

// Of f32: all but the elements that are not plainly right. Finite numbers against a finite bound are sure where got is
// the rounded r, or |got - r| <= E with a little to spare for the rounding of either side; rounding is monotone, so
// that got then lies inside round(r - E) .. round(r + E) as well.
ASSAY_CLONES void judge_sure(const Run& run, const float* got, int64_t count, Verdicts& out) {
  constexpr double kLargest = std::numeric_limits<double>::max();
#pragma GCC ivdep
  for (int64_t i = 0; i < count; ++i) {
    const double g = got[i], r = run.hi[i], magnitude = std::fabs(r);
    const float rounded = static_cast<float>(r);
    const double nearest = rounded;
    const double e = detail::sum_up(run.e_alg[i], run.e_ref[i]);
    const double off = g - r;
    const double q = off / e, size = std::fabs(q);
    const bool is_rigorous = run.evidence[i] == Evidence::rigorous, is_weak = run.evidence[i] == Evidence::weak;
    const bool is_miss = g != nearest;
    const bool is_near = !is_miss | (std::fabs(off) <= e * (1 - 0x1p-50));
    const bool is_sure = (magnitude <= kLargest) & (std::fabs(g) <= std::numeric_limits<float>::max()) &
                         (run.lo[i] == 0) & (is_rigorous | is_weak) & (e > 0) & (e <= kLargest) & is_near &
                         (size <= kLargestQ);
    const int32_t at = std::bit_cast<int32_t>(got[i]), want = std::bit_cast<int32_t>(rounded);
    const int32_t low = std::numeric_limits<int32_t>::min();
    const int32_t place = at < 0 ? low - at : at, wanted = want < 0 ? low - want : want;
    const double apart = static_cast<double>(place) - static_cast<double>(wanted);
    const int64_t bits = std::bit_cast<int64_t>(size);
    const int64_t rough = (bits >> 52) - 1023 + 13 + ((bits & ((int64_t{1} << 52) - 1)) != 0);
    const int64_t above = rough < 1 ? 1 : rough, within = above > kHistogramBins - 1 ? kHistogramBins - 1 : above;
    const int64_t bin = bits == 0 ? 0 : within;
    out.q[i] = is_sure ? q : 0;
    out.ulps[i] = (is_sure & is_miss) ? apart : 0;
    out.rank[i] = is_sure ? bits : Verdicts::kNoQ;
    out.bin[i] = static_cast<uint8_t>(is_sure ? bin : kHistogramBins);
    out.is_open[i] = is_sure ? 0 : 1;
    const int64_t tier = is_rigorous ? one(kRigorous) : one(kWeak);
    const int64_t vacuous = ((e >= magnitude) & (e > kUnderflowLevel)) ? one(kVacuous) : 0;
    const int64_t misrounded = is_miss ? one(kMisrounded) : 0;
    out.tally[i] = is_sure ? tier + vacuous + misrounded : 0;
  }
}

// Calls visit(i) for each element that is open.
template <class Visit>
void for_each_open(const uint8_t* is_open, int64_t count, const Visit& visit) {
  const uint8_t* const end = is_open + count;
  for (const uint8_t* at = is_open; at < end; ++at) {
    at = static_cast<const uint8_t*>(std::memchr(at, 1, static_cast<size_t>(end - at)));
    if (at == nullptr) return;
    visit(at - is_open);
  }
}

// Running sums, an array of lanes each.
struct Lanes {
  double q2[ErrorSums::kLanes] = {}, q[ErrorSums::kLanes] = {}, ulps[ErrorSums::kLanes] = {};
};
struct OfRun {
  int64_t rank = Verdicts::kNoQ;  // the largest
  int64_t tally = 0;              // the sum
};
// `count` is a whole number of lanes: beyond the run there are no ulps, q or ranks.
ASSAY_CLONES void add_run(const Verdicts& v, int64_t count, Lanes& lanes, OfRun& result) {
  Lanes sums = lanes;
  OfRun of_run;
  for (int64_t i = 0; i < count; i += ErrorSums::kLanes) {
    for (int lane = 0; lane < ErrorSums::kLanes; ++lane) {
      sums.q2[lane] += v.q[i + lane] * v.q[i + lane];
      sums.q[lane] += v.q[i + lane];
      sums.ulps[lane] += v.ulps[i + lane];
    }
  }
  for (int64_t i = 0; i < count; ++i) {
    of_run.rank = v.rank[i] > of_run.rank ? v.rank[i] : of_run.rank;
    of_run.tally += v.tally[i];
  }
  lanes = sums;
  result = of_run;
}

// The bits of r rounded to f32 where both ends of an interval around r +- E_ref, a little wider than it, round alike.
ASSAY_CLONES void round_sure(const Run& run, int64_t count, uint32_t* bits, uint8_t* is_open) {
#pragma GCC ivdep
  for (int64_t i = 0; i < count; ++i) {
    const double r = run.hi[i], magnitude = std::fabs(r);
    const double wide = run.e_ref[i] * (1 + 0x1p-30) + magnitude * 0x1p-52;
    const float low = static_cast<float>(r - wide), high = static_cast<float>(r + wide);
    const bool is_sure = (low == high) & (run.lo[i] == 0) & (magnitude <= std::numeric_limits<double>::max());
    bits[i] = (is_sure & (low != 0)) ? std::bit_cast<uint32_t>(low) : 0;
    is_open[i] = is_sure ? 0 : 1;
  }
}

// What several threads round of an output, and what the truth takes of it: of a sweep a digest of each chunk, which is
// done while its elements are in cache, else all of it.
template <DType T>
class RoundedOutput {
 public:
  using Bits = BitsOf<size_of(T)>;
  static constexpr int64_t kChunk = kHashChunk / static_cast<int64_t>(sizeof(Bits));  // elements

  RoundedOutput(int64_t elements, TruthBuilder& truth) : elements_(elements), truth_(truth) {
    if (truth.of_sweep()) {
      chunks_.resize(static_cast<size_t>(chunks()));
    } else {
      bits_ = std::make_unique_for_overwrite<Bits[]>(static_cast<size_t>(elements));
      straddles_ = std::make_unique_for_overwrite<uint8_t[]>(static_cast<size_t>(elements));
    }
  }

  int64_t chunks() const { return (elements_ + kChunk - 1) / kChunk; }

  // The elements of one chunk, run after run.
  class Chunk {
   public:
    Chunk(RoundedOutput& all, int64_t chunk)
        : all_(all), chunk_(chunk), first_(chunk * kChunk), count_(std::min(kChunk, all.elements_ - first_)) {
      if (all.bits_ == nullptr) return;
      bits_ = all.bits_.get() + first_;
      straddles_ = all.straddles_.get() + first_;
    }

    int64_t begin() const { return first_; }
    int64_t end() const { return first_ + count_; }

    void round(const Run& run, int64_t first, int64_t count) {
      Bits* const at = bits_ + (first - first_);
      uint8_t* const open = straddles_ + (first - first_);
      if constexpr (T == DType::f32) {
        round_sure(run, count, at, open);
      } else {
        std::fill_n(open, count, uint8_t{1});
      }
      for_each_open(open, count, [&](int64_t i) {
        uint64_t proven = 0;
        open[i] = !proven_bits<T>(run.hi[i], run.lo[i], run.e_ref[i], false, proven);
        at[i] = static_cast<Bits>(proven);
      });
    }

    // Of the same elements of `got`, packed.
    uint64_t digest_of(const std::byte* got) const {
      return xxh64_of(got + chunk_ * kHashChunk, static_cast<size_t>(count_) * sizeof(Bits));
    }

    void close() {
      if (all_.bits_ != nullptr) return;
      all_.chunks_[static_cast<size_t>(chunk_)] =
          truth_chunk(T, count_, reinterpret_cast<const std::byte*>(bits_), straddles_);
    }

   private:
    RoundedOutput& all_;
    int64_t chunk_, first_, count_;
    Bits own_bits_[kChunk];
    uint8_t own_straddles_[kChunk];
    Bits* bits_ = own_bits_;
    uint8_t* straddles_ = own_straddles_;
  };

  // To the truth, once each chunk was closed.
  void add() {
    if (bits_ == nullptr) return truth_.add_chunks(T, elements_, chunks_);
    truth_.add_rounded(T, elements_, reinterpret_cast<const std::byte*>(bits_.get()), straddles_.get());
  }

 private:
  int64_t elements_;
  TruthBuilder& truth_;
  std::vector<TruthChunk> chunks_;  // of a sweep
  std::unique_ptr<Bits[]> bits_;    // of anything else
  std::unique_ptr<uint8_t[]> straddles_;
};

// What a block of ErrorSums::kBlock elements adds to the tensor's figures that depends on the order of blocks.
struct Block {
  ErrorSums sums;
  int64_t rank = Verdicts::kNoQ, worst = -1;  // the first element of the largest q
  int64_t failure = -1;                       // the first
};

template <DType T>
class BlockJudge {
 public:
  BlockJudge(const JudgeRules& rules, ErrorCounts& counts) : rules_(rules), counts_(counts) {}

  void run(const Run& run, const std::byte* got, int64_t first, int64_t count) {
    judge(run, got, first, count);
    const int64_t end = (count + ErrorSums::kLanes - 1) / ErrorSums::kLanes * ErrorSums::kLanes;
    for (int64_t i = count; i < end; ++i) {
      v_.q[i] = v_.ulps[i] = 0;
      v_.rank[i] = Verdicts::kNoQ;
      v_.tally[i] = 0;
    }
    OfRun sure;
    add_run(v_, end, lanes_, sure);
    count_sure(sure.tally);
    for (int64_t i = 0; i < count; ++i) ++histogram_[i % kTables][v_.bin[i]];
    if (sure.rank <= block_.rank) return;
    block_.rank = sure.rank;
    block_.worst = first + (std::find(v_.rank, v_.rank + count, sure.rank) - v_.rank);
  }

  Block close() {
    Block block = block_;
    ErrorSums lanes[ErrorSums::kLanes];
    for (int l = 0; l < ErrorSums::kLanes; ++l) lanes[l] = {lanes_.q2[l], lanes_.q[l], lanes_.ulps[l]};
    block.sums = sum_of_lanes(lanes);
    for (auto& table : histogram_) {
      for (int bin = 0; bin < kHistogramBins; ++bin) counts_.histogram[bin] += table[bin];
      std::fill(std::begin(table), std::end(table), 0);
    }
    block_ = {};
    lanes_ = {};
    return block;
  }

 private:
  static constexpr int kTables = 4;  // neighbours are counted apart: one counter would be waited for each time

  void judge(const Run& run, const std::byte* got, int64_t first, int64_t count) {
    if constexpr (T == DType::f32) {
      float elements[kRun];
      std::memcpy(elements, got + first * static_cast<int64_t>(sizeof(float)),
                  static_cast<size_t>(count) * sizeof(float));
      judge_sure(run, elements, count, v_);
    } else {
      std::fill_n(v_.is_open, count, uint8_t{1});
      std::fill_n(v_.tally, count, 0);
    }
    for_each_open(v_.is_open, count, [&](int64_t i) { judge_open(run, load(T, got, first + i), first, i); });
  }

  void count_sure(int64_t tally) {
    const int64_t rigorous = count_of(kRigorous, tally), weak = count_of(kWeak, tally);
    counts_.tier[static_cast<size_t>(Evidence::rigorous)] += rigorous;
    counts_.tier[static_cast<size_t>(Evidence::weak)] += weak;
    counts_.vacuous += count_of(kVacuous, tally);
    counts_.misrounded += count_of(kMisrounded, tally);
    counts_.rounded += rigorous + weak;
    counts_.with_q += rigorous + weak;
  }

  void judge_open(const Run& run, double got, int64_t first, int64_t i) {
    const Judged j = judge_element<T>({run.hi[i], run.lo[i], run.e_ref[i], run.e_alg[i], run.evidence[i]}, got, rules_);
    ++counts_.tier[static_cast<size_t>(j.counted)];
    counts_.vacuous += j.vacuous;
    counts_.rounded += j.rounded;
    counts_.misrounded += j.misrounded;
    counts_.failures += j.failed;
    if (j.failed && block_.failure < 0) block_.failure = first + i;
    counts_.with_q += j.has_q;
    const double q = std::fabs(j.signed_q);
    v_.q[i] = j.signed_q;
    v_.ulps[i] = j.misrounded ? j.ulps : 0;
    v_.rank[i] = j.has_q ? std::bit_cast<int64_t>(q) : Verdicts::kNoQ;
    v_.bin[i] = static_cast<uint8_t>(j.has_q ? detail::histogram_bin(q) : kHistogramBins);
  }

  const JudgeRules rules_;
  ErrorCounts& counts_;
  Verdicts v_;
  Lanes lanes_;
  Block block_;
  int32_t histogram_[kTables][kHistogramBins + 1] = {};
};

// Calls visit(chunk, thread) for each of `chunks`, from several threads.
template <class Visit>
void share_chunks(int64_t chunks, int threads, const Visit& visit) {
  std::atomic<int64_t> next{0};
  const auto work = [&](int thread) {
    for (int64_t chunk; (chunk = next++) < chunks;) visit(chunk, thread);
  };
  std::vector<std::jthread> helpers;
  for (int thread = 1; thread < std::min<int64_t>(threads, chunks); ++thread) helpers.emplace_back(work, thread);
  work(0);
}

int64_t blocks_of(int64_t elements) { return (elements + ErrorSums::kBlock - 1) / ErrorSums::kBlock; }

template <DType T>
ErrorSummary judge_typed(const TensorSpec& spec, const std::byte* got, const ElementOracle& oracle,
                         const JudgeRules& rules, int threads, TruthBuilder& truth, std::vector<uint64_t>* digests) {
  const int64_t elements = spec.elements();
  using Rounded = RoundedOutput<T>;
  static_assert(Rounded::kChunk % ErrorSums::kBlock == 0);
  Rounded rounded(elements, truth);
  std::vector<Block> blocks(static_cast<size_t>(blocks_of(elements)));
  std::vector<ErrorCounts> of_threads(static_cast<size_t>(std::max(threads, 1)));
  if (digests != nullptr) digests->resize(static_cast<size_t>(rounded.chunks()));
  share_chunks(rounded.chunks(), threads, [&](int64_t number, int thread) {
    typename Rounded::Chunk chunk(rounded, number);
    ErrorCounts counts;
    BlockJudge<T> judge(rules, counts);
    Run run;
    for (int64_t first = chunk.begin(); first < chunk.end(); first += kRun) {
      const int64_t count = std::min(kRun, chunk.end() - first), next = first + count;
      oracle.compute(first, count, run);
      judge.run(run, got, first, count);
      chunk.round(run, first, count);
      if (next % ErrorSums::kBlock == 0 || next == chunk.end()) {
        blocks[static_cast<size_t>(first / ErrorSums::kBlock)] = judge.close();
      }
    }
    chunk.close();
    if (digests != nullptr) (*digests)[static_cast<size_t>(number)] = chunk.digest_of(got);
    of_threads[static_cast<size_t>(thread)].add(counts);
  });
  rounded.add();

  ErrorCounts counts;
  for (const ErrorCounts& of_thread : of_threads) counts.add(of_thread);
  ErrorSums sums;
  Block first;
  for (const Block& block : blocks) {
    sums.add(block.sums);
    if (first.failure < 0) first.failure = block.failure;
    if (block.rank > first.rank) first.rank = block.rank, first.worst = block.worst;
  }
  WorstElement shown;
  if (const int64_t index = counts.failures > 0 ? first.failure : first.worst; index >= 0) {
    Run run;
    oracle.compute(index, 1, run);
    const double found = load(T, got, index);
    const Judged j =
        judge_element<T>({run.hi[0], run.lo[0], run.e_ref[0], run.e_alg[0], run.evidence[0]}, found, rules);
    shown = {index, std::fabs(j.signed_q), found, j.want, j.bound};
  }
  ErrorSummary summary{.tensor = spec.name, .elements = elements};
  summarise(counts, sums, first.worst < 0 ? 0 : std::bit_cast<double>(first.rank), shown, summary);
  return summary;
}

void require_packed(const TensorSpec& spec) {
  if (!is_packed(spec)) throw Error("accuracy of " + spec.name + ": its elements are not packed");
}

}  // namespace

bool is_packed(const TensorSpec& spec) { return spec.strides == row_major(spec.shape); }

ErrorSummary judge_runs(const TensorSpec& spec, const std::byte* got, const ElementOracle& oracle,
                        const Contract& contract, int threads, TruthBuilder& truth, std::vector<uint64_t>* digests) {
  require_packed(spec);
  const JudgeRules rules{.nan_unspecified = contract.nan_policy == ASSAY_NAN_UNSPECIFIED};
  return with_dtype(spec.dtype, [&](auto type) {
    return judge_typed<decltype(type)::value>(spec, got, oracle, rules, threads, truth, digests);
  });
}

void add_truth_of_runs(const TensorSpec& spec, const ElementOracle& oracle, int threads, TruthBuilder& truth) {
  require_packed(spec);
  with_dtype(spec.dtype, [&](auto type) {
    constexpr DType T = decltype(type)::value;
    const int64_t elements = spec.elements();
    RoundedOutput<T> rounded(elements, truth);
    share_chunks(rounded.chunks(), threads, [&](int64_t number, int) {
      typename RoundedOutput<T>::Chunk chunk(rounded, number);
      Run run;
      for (int64_t first = chunk.begin(); first < chunk.end(); first += kRun) {
        const int64_t count = std::min(kRun, chunk.end() - first);
        oracle.compute(first, count, run);
        chunk.round(run, first, count);
      }
      chunk.close();
    });
    rounded.add();
  });
}

}  // namespace assay
