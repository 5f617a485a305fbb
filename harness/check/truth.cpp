#include "check/truth.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "core/error.h"

namespace assay {

TruthChunk truth_chunk(DType dtype, int64_t count, const std::byte* elements, const uint8_t* straddles) {
  TruthChunk chunk{.digest = xxh64_of(elements, static_cast<size_t>(count) * size_of(dtype))};
  if (count > 0 && std::memchr(straddles, 1, static_cast<size_t>(count)) != nullptr) {  // few chunks have any
    chunk.straddling = std::count(straddles, straddles + count, 1);
    chunk.digest = xxh64_of(straddles, static_cast<size_t>(count), chunk.digest);
  }
  if (chunk.straddling == count) return chunk;
  chunk.first = std::find(straddles, straddles + count, 0) - straddles;
  for (chunk.last = count - 1; straddles[chunk.last] != 0;) --chunk.last;
  chunk.first_bits = load_bits(dtype, elements, chunk.first);
  chunk.last_bits = load_bits(dtype, elements, chunk.last);
  return chunk;
}

template <DType T, class ProvenBits>
void TruthBuilder::add_elements(size_t count, const ProvenBits& proven_bits) {
  constexpr size_t kBlock = 4096;
  std::byte block[kBlock * size_of(T)];
  size_t filled = 0;
  for (size_t i = 0; i < count; ++i, ++elements_) {
    uint64_t bits = 0;
    if (std::has_single_bit(static_cast<uint64_t>(elements_))) want_middle_ = true;
    if (proven_bits(i, bits)) {
      last_ = {elements_, bits, T};
      if (first_.index < 0) first_ = last_;
      if (want_middle_) middle_ = last_;
      want_middle_ = false;
    } else {
      straddling_.push_back(elements_);
    }
    store_bits(T, block, static_cast<int64_t>(filled), bits);
    if (++filled == kBlock || i + 1 == count) {
      hasher_.add(block, filled * size_of(T));
      filled = 0;
    }
  }
}

void TruthBuilder::add(const Reference& reference) {
  if (reference.lo.size() != reference.size() || reference.e_ref.size() != reference.size()) {
    throw Error(fmt::format("truth of {}: hi, lo and e_ref have {}, {} and {} elements", reference.tensor,
                            reference.size(), reference.lo.size(), reference.e_ref.size()));
  }
  with_dtype(reference.dtype, [&](auto type) {
    constexpr DType T = decltype(type)::value;
    const auto proven = [&](size_t i, uint64_t& bits) {
      return proven_bits<T>(reference.hi[i], reference.lo[i], reference.e_ref[i], reference.bitwise, bits);
    };
    if (!of_sweep_) return add_elements<T>(reference.size(), proven);
    std::vector<std::byte> elements(reference.size() * size_of(T));
    std::vector<uint8_t> straddles(reference.size());
    for (size_t i = 0; i < reference.size(); ++i) {
      uint64_t bits = 0;
      straddles[i] = !proven(i, bits);
      store_bits(T, elements.data(), static_cast<int64_t>(i), bits);
    }
    add_rounded(T, static_cast<int64_t>(reference.size()), elements.data(), straddles.data());
  });
}

void TruthBuilder::add_chunks(DType dtype, int64_t count, std::span<const TruthChunk> chunks) {
  const int64_t size = static_cast<int64_t>(size_of(dtype)), each = kHashChunk / size;
  if (!of_sweep_ || static_cast<int64_t>(chunks.size()) != hash_chunks(count * size)) {
    throw Error(fmt::format("truth: {} chunks of {} elements of a {}", chunks.size(), count,
                            of_sweep_ ? "sweep" : "case that is no sweep"));
  }
  int64_t start = elements_;
  elements_ += count;
  for (const TruthChunk& chunk : chunks) {
    hasher_.add(&chunk.digest, sizeof chunk.digest);
    straddling_of_chunks_ += chunk.straddling;
    if (std::has_single_bit(static_cast<uint64_t>(start))) want_middle_ = true;
    if (chunk.first >= 0) {
      const Sample first{start + chunk.first, chunk.first_bits, dtype};
      if (first_.index < 0) first_ = first;
      if (want_middle_) middle_ = first;
      want_middle_ = false;
      last_ = {start + chunk.last, chunk.last_bits, dtype};
    }
    start += each;
  }
}

void TruthBuilder::add_rounded(DType dtype, int64_t count, const std::byte* elements, const uint8_t* straddles) {
  if (count == 0) return;
  if (of_sweep_) {
    const int64_t size = static_cast<int64_t>(size_of(dtype)), each = kHashChunk / size;
    std::vector<TruthChunk> chunks;
    for (int64_t first = 0; first < count; first += each) {
      chunks.push_back(truth_chunk(dtype, std::min(each, count - first), elements + first * size, straddles + first));
    }
    return add_chunks(dtype, count, chunks);
  }
  hasher_.add(elements, static_cast<size_t>(count) * size_of(dtype));
  const int64_t start = elements_;
  elements_ += count;
  // The first at `from` or after it that straddles, or does not; `count`: none.
  const auto find = [&](int64_t from, int straddling) {
    const void* const at = std::memchr(straddles + from, straddling, static_cast<size_t>(count - from));
    return at == nullptr ? count : static_cast<const uint8_t*>(at) - straddles;
  };
  for (int64_t i = find(0, 1); i < count; i = find(i + 1, 1)) straddling_.push_back(start + i);
  const auto proven = [&](int64_t from) {
    const int64_t i = find(from, 0);
    return i == count ? Sample{} : Sample{start + i, load_bits(dtype, elements, i), dtype};
  };
  if (first_.index < 0) first_ = proven(0);
  // As if each element were asked in turn whether its index is a power of two and a sample is due from there.
  int64_t from = 0;
  while (from < count) {
    if (!want_middle_) {
      const auto next = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(std::max(start + from, int64_t{1}))));
      if (next >= elements_) break;
      from = next - start;
    }
    const Sample sample = proven(from);
    want_middle_ = sample.index < 0;
    if (want_middle_) break;
    middle_ = sample;
    from = sample.index - start + 1;
  }
  for (int64_t i = count - 1; i >= 0; --i) {
    if (straddles[i] != 0) continue;
    last_ = {start + i, load_bits(dtype, elements, i), dtype};
    break;
  }
}

Truth TruthBuilder::finish() {
  if (!straddling_.empty()) hasher_.add(straddling_.data(), straddling_.size() * sizeof(int64_t));
  Truth truth{.hash = fmt::format("{:016x}", hasher_.digest()),
              .elements = elements_,
              .straddling = static_cast<int64_t>(straddling_.size()) + straddling_of_chunks_};
  int64_t previous = -1;
  for (const Sample& sample : {first_, middle_, last_}) {
    if (sample.index <= previous) continue;
    truth.samples.push_back(fmt::format("{}:{:0{}x}", sample.index, sample.bits, 2 * size_of(sample.dtype)));
    previous = sample.index;
  }
  return truth;
}

Truth truth_of(std::span<const Reference> references) {
  TruthBuilder builder;
  for (const Reference& reference : references) builder.add(reference);
  return builder.finish();
}

}  // namespace assay
