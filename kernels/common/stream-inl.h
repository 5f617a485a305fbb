// Writes rows of results, around the caches where nobody reads them soon. Include it inside a Highway kernel after
// foreach_target.h; another thread may read what was written once the writer is gone.
#if defined(ASSAY_KERNELS_COMMON_STREAM_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef ASSAY_KERNELS_COMMON_STREAM_INL_H
#undef ASSAY_KERNELS_COMMON_STREAM_INL_H
#else
#define ASSAY_KERNELS_COMMON_STREAM_INL_H
#endif

#include <algorithm>
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
// they are neighbours in memory, and leave as lines: one for each that comes, since many at once would take the places
// that loads wait in, and some lines later, since a line is not read well right after it was written in two pieces.
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
    if (way_ == Way::gathered && bytes == base_ + (at_ - lines_)) return;
    flush();
    at_ = bytes;
    way_ = stream_ ? Way::streamed : Way::stored;
    const size_t past_line = reinterpret_cast<uintptr_t>(to) % kLine;
    const size_t row_bytes = static_cast<size_t>(n) * sizeof(T);
    if (stream_ && (past_line != 0 || row_bytes % kPairBytes != 0 || kPairBytes % kLine != 0)) {
      way_ = Way::gathered;
      base_ = bytes - past_line;
      begun_ = past_line;
      at_ = lines_ + past_line;
    }
  }

  HWY_INLINE void put(const Pair<D>& p) {
    if (way_ == Way::streamed) {
      stream_pair(D(), p, reinterpret_cast<T*>(at_));
    } else {
      store_pair(D(), p, reinterpret_cast<T*>(at_));
    }
    at_ += kPairBytes;
    if (way_ == Way::gathered) send_old(kPairBytes);
  }

  // The row's last elements, fewer than a pair.
  HWY_INLINE void put_n(const Pair<D>& p, size_t count) {
    store_pair_n(D(), p, reinterpret_cast<T*>(at_), count);
    at_ += count * sizeof(T);
    if (way_ == Way::gathered) send_old(static_cast<int64_t>(count * sizeof(T)));
  }

 private:
  enum class Way : uint8_t { stored, streamed, gathered };
  static constexpr int64_t kLine = 64;
  static constexpr int64_t kPairBytes = 2 * hn::MaxLanes(D()) * sizeof(T);
  static constexpr int64_t kWaiting = 4 * kLine;
  static constexpr int64_t kGathered = 4096;

  // Whole lines in lines_ up to `bytes` before the next element.
  int64_t lines_before(int64_t bytes) const { return (at_ - lines_ - bytes) & -kLine; }

  // Sends the lines that the last `bytes` make old.
  HWY_INLINE void send_old(int64_t bytes) {
    const int64_t from = lines_before(bytes) - kWaiting;
    const int64_t to = bytes % kLine == 0 ? from + bytes : lines_before(0) - kWaiting;
    for (int64_t line = from; line < to; line += kLine) send_line(line);
    if (at_ >= lines_ + kGathered) rewind();
  }

  HWY_INLINE void send_line(int64_t line) {
    if (line <= 0) {
      if (line == 0) std::memcpy(base_ + begun_, lines_ + begun_, kLine - begun_);
      return;
    }
    const hn::CappedTag<uint8_t, kLine> d;
    for (int64_t i = line; i < line + kLine; i += hn::MaxLanes(d)) {
      hn::Stream(hn::Load(d, reinterpret_cast<const uint8_t*>(lines_ + i)), d, reinterpret_cast<uint8_t*>(base_ + i));
    }
  }

  // What waits moves to the front, behind the first line: that one may belong to somebody else in part.
  HWY_NOINLINE void rewind() {
    const int64_t first = lines_before(0) - kWaiting, waiting = at_ - lines_ - first;
    std::memcpy(lines_ + kLine, lines_ + first, static_cast<size_t>(waiting));
    base_ += first - kLine;
    at_ = lines_ + kLine + waiting;
  }

  void flush() {
    if (way_ != Way::gathered) return;
    const int64_t end = lines_before(0);
    for (int64_t line = std::max<int64_t>(0, end - kWaiting); line < end; line += kLine) send_line(line);
    const int64_t begun = end == 0 ? static_cast<int64_t>(begun_) : end;
    std::memcpy(base_ + begun, lines_ + begun, static_cast<size_t>(at_ - lines_ - begun));
    way_ = Way::stored;
  }

  bool stream_;
  Way way_ = Way::stored;
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

// Where to fetch while element i of a row of n is worked on. Of a long row, a later one in the order of its addresses,
// although its two runs will be worked on in turns. Of a row too long to wait in a level-2 cache, what lies further on
// in the same run, and past the end of that the beginning of a later row's. kernel_ratios puts the kernels that fetch
// so beside the copy.
template <class D, class T>
class Ahead {
 public:
  HWY_INLINE explicit Ahead(int64_t n) : n_(n), run_(first_run(n, kTwo)) {}

  // Short rows are neighbours: past the end of one lies what comes later.
  HWY_INLINE void fetch(const T* row, const T* later, int64_t i, Turn turn) const {
    constexpr int64_t kElement = sizeof(T), kAhead = (2 << 10) / kElement, kWaiting = (128 << 10) / kElement;
    if (turn == Turn::only) return fetch_pair(D(), row + i + kAhead, 0);
    const int64_t begin = turn == Turn::even ? 0 : run_;
    if (n_ <= kWaiting) return fetch_pair(D(), later + 2 * (i - begin) + (turn == Turn::even ? 0 : kTwo), 0);
    const int64_t at = i + kAhead, end = turn == Turn::even ? run_ : n_;
    fetch_pair(D(), at < end ? row + at : later + (at - end + begin), 0);
  }

 private:
  static constexpr int64_t kTwo = 2 * static_cast<int64_t>(hn::MaxLanes(D()));
  int64_t n_, run_;
};

}  // namespace assay::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
