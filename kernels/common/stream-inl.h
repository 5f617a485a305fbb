// Writes rows of results, around the caches where nobody reads them soon. Include it inside a Highway kernel after
// foreach_target.h; another thread may read what was written once the writer is gone.
#if defined(ASSAY_KERNELS_COMMON_STREAM_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef ASSAY_KERNELS_COMMON_STREAM_INL_H
#undef ASSAY_KERNELS_COMMON_STREAM_INL_H
#else
#define ASSAY_KERNELS_COMMON_STREAM_INL_H
#endif

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "common/pair-inl.h"
#include "common/rows.h"
#include "hwy/cache_control.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace assay::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Takes the elements of one row after the other, in pairs of vectors. A streamed store fills a whole cache line or
// costs more than it saves, so rows that do not consist of whole lines are gathered, one behind the other as long as
// they are neighbours in memory, and leave as lines.
template <class T>
class RowWriter {
 public:
  using D = hn::ScalableTag<ComputeOf<T>>;

  explicit RowWriter(bool stream) : stream_(stream) {}
  RowWriter(const RowWriter&) = delete;
  RowWriter& operator=(const RowWriter&) = delete;
  ~RowWriter() {
    flush();
    if (stream_) hwy::FlushStream();
  }

  void begin_row(T* to, int64_t n) {
    auto* bytes = reinterpret_cast<std::byte*>(to);
    if (is_gathering_ && bytes == base_ + (at_ - lines_)) return;
    flush();
    const size_t past_line = reinterpret_cast<uintptr_t>(to) % kLine;
    const size_t row_bytes = static_cast<size_t>(n) * sizeof(T);
    is_gathering_ = stream_ && (past_line != 0 || row_bytes % kPairBytes != 0 || kPairBytes % kLine != 0);
    if (is_gathering_) {
      base_ = bytes - past_line;
      begun_ = past_line;
      at_ = lines_ + past_line;
    } else {
      at_ = bytes;
    }
  }

  HWY_INLINE void put(const Pair<D>& p) {
    if (stream_ && !is_gathering_) {
      stream_pair(D(), p, reinterpret_cast<T*>(at_));
    } else {
      store_pair(D(), p, reinterpret_cast<T*>(at_));
    }
    at_ += kPairBytes;
    if (is_gathering_ && at_ >= lines_ + kGathered) drain();
  }

  // The row's last elements, fewer than a pair.
  HWY_INLINE void put_n(const Pair<D>& p, size_t count) {
    store_pair_n(D(), p, reinterpret_cast<T*>(at_), count);
    at_ += count * sizeof(T);
    if (is_gathering_ && at_ >= lines_ + kGathered) drain();
  }

 private:
  static constexpr size_t kLine = 64;
  static constexpr size_t kPairBytes = 2 * hn::MaxLanes(D()) * sizeof(T);
  static constexpr size_t kGathered = 1024;

  // The whole lines leave, what follows them moves to the front.
  void drain() {
    const size_t end = static_cast<size_t>(at_ - lines_), whole = end / kLine * kLine;
    size_t i = 0;
    if (begun_ != 0 && whole > 0) {
      std::memcpy(base_ + begun_, lines_ + begun_, kLine - begun_);
      begun_ = 0;
      i = kLine;
    }
    const hn::ScalableTag<uint8_t> d;
    for (; i < whole; i += hn::Lanes(d)) {
      hn::Stream(hn::Load(d, reinterpret_cast<const uint8_t*>(lines_ + i)), d, reinterpret_cast<uint8_t*>(base_ + i));
    }
    std::memcpy(lines_, lines_ + whole, end - whole);
    base_ += whole;
    at_ = lines_ + (end - whole);
  }

  void flush() {
    if (!is_gathering_) return;
    drain();
    std::memcpy(base_ + begun_, lines_ + begun_, static_cast<size_t>(at_ - lines_) - begun_);
    is_gathering_ = false;
  }

  bool stream_, is_gathering_ = false;
  std::byte* at_ = nullptr;    // where the next elements go: into the row, or into lines_
  std::byte* base_ = nullptr;  // where lines_[0] goes, a line's beginning
  size_t begun_ = 0;           // of the first line, bytes that belong to somebody else
  alignas(kLine) std::byte lines_[kGathered + 2 * kPairBytes];
};

// Writes rows in the order of row_in_turn and reduce_row: two writers, for a long row's runs or for the rows' halves.
template <class T>
class TurnWriter {
 public:
  using D = typename RowWriter<T>::D;

  explicit TurnWriter(bool stream) : even_(stream), odd_(stream) {}

  // The k-th row.
  void begin_row(int64_t k, T* to, int64_t n) {
    const int64_t run = first_run(n, 2 * static_cast<int64_t>(hn::Lanes(D())));
    const bool is_long = run < n;
    turns_[0] = is_long || k % 2 == 0 ? &even_ : &odd_;
    turns_[1] = is_long ? &odd_ : turns_[0];
    turns_[0]->begin_row(to, run);
    if (is_long) turns_[1]->begin_row(to + run, n - run);
  }
  HWY_INLINE void put(Turn turn, const Pair<D>& p) { turns_[turn != Turn::even]->put(p); }
  HWY_INLINE void put_n(const Pair<D>& p, size_t count) { turns_[1]->put_n(p, count); }

 private:
  RowWriter<T> even_, odd_;
  RowWriter<T>* turns_[2] = {&even_, &even_};
};

// Where to fetch while element i of a row of n is worked on: further on in its run, and past the end of that at the
// beginning of the same run of a later row.
template <class D, class T>
class Ahead {
 public:
  HWY_INLINE explicit Ahead(int64_t n) : n_(n), run_(first_run(n, 2 * static_cast<int64_t>(hn::Lanes(D())))) {}

  // Short rows are neighbours: past the end of one lies what comes later.
  HWY_INLINE void fetch(const T* row, const T* later, int64_t i, Turn turn) const {
    constexpr int64_t kAhead = (2 << 10) / static_cast<int64_t>(sizeof(T));
    const int64_t at = i + kAhead;
    const int64_t end = turn == Turn::even ? run_ : n_, run = turn == Turn::even ? run_ : n_ - run_;
    fetch_pair(D(), turn == Turn::only || at < end ? row + at : later + (at - run), 0);
  }

 private:
  int64_t n_, run_;
};

}  // namespace assay::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
