#include "check/device_accuracy.h"
#include "check/device_hash.cuh"
#include "check/device_references.h"
#include "check/number.h"
#include "core/cuda.cuh"

namespace assay {
namespace {

template <DType T>
__global__ void round_proven(DeviceReference r, bool bitwise, int64_t count, BitsOf<size_of(T)>* elements,
                             uint8_t* straddles) {
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step) {
    uint64_t bits = 0;
    straddles[i] = !proven_bits<T>(r.hi[i], r.lo[i], r.e_ref[i], bitwise, bits);
    elements[i] = static_cast<BitsOf<size_of(T)>>(bits);
  }
}

// As truth_chunk(), a chunk a block.
template <DType T>
__global__ void __launch_bounds__(kThreads)
    digest_proven(DeviceReference r, bool bitwise, int64_t count, TruthChunk* chunks) {
  using Bits = BitsOf<size_of(T)>;
  constexpr int kEach = static_cast<int>(kHashChunk / sizeof(Bits));
  __shared__ uint64_t elements[kHashChunk / sizeof(uint64_t)], straddles[kEach / sizeof(uint64_t)];
  __shared__ int straddling, first, last;
  const int64_t begin = int64_t{blockIdx.x} * kEach, left = count - begin;
  const int n = left < kEach ? static_cast<int>(left) : kEach;
  if (threadIdx.x == 0) {
    straddling = 0;
    first = kEach;
    last = -1;
  }
  __syncthreads();
  int open = 0, low = kEach, high = -1;
  for (int i = static_cast<int>(threadIdx.x); i < n; i += kThreads) {
    uint64_t bits = 0;
    const bool is_proven = proven_bits<T>(r.hi[begin + i], r.lo[begin + i], r.e_ref[begin + i], bitwise, bits);
    reinterpret_cast<Bits*>(elements)[i] = static_cast<Bits>(bits);
    reinterpret_cast<uint8_t*>(straddles)[i] = !is_proven;
    open += !is_proven;
    if (is_proven && low == kEach) low = i;
    if (is_proven) high = i;
  }
  if (open > 0) atomicAdd(&straddling, open);
  atomicMin(&first, low);
  atomicMax(&last, high);
  __syncthreads();
  if (threadIdx.x >= 32) return;
  TruthChunk chunk;
  chunk.digest = digest_of_shared(elements, static_cast<uint64_t>(n) * sizeof(Bits), 0);
  if (straddling > 0) chunk.digest = digest_of_shared(straddles, static_cast<uint64_t>(n), chunk.digest);
  chunk.straddling = straddling;
  if (last >= 0) {
    chunk.first = first;
    chunk.last = last;
    chunk.first_bits = reinterpret_cast<const Bits*>(elements)[first];
    chunk.last_bits = reinterpret_cast<const Bits*>(elements)[last];
  }
  if (threadIdx.x == 0) chunks[blockIdx.x] = chunk;
}

// Arrays one after the other in a piece of memory; with none of it only their size is found.
class Shelf {
 public:
  explicit Shelf(std::byte* memory) : memory_(memory) {}
  template <class T>
  T* take(int64_t count) {
    constexpr size_t kAlignment = 256;
    std::byte* at = memory_ == nullptr ? nullptr : memory_ + used_;
    used_ += (static_cast<size_t>(count) * sizeof(T) + kAlignment - 1) / kAlignment * kAlignment;
    return reinterpret_cast<T*>(at);
  }
  size_t used() const { return used_; }

 private:
  std::byte* memory_;
  size_t used_ = 0;
};

int64_t values(const DeviceOutput& output, Per per, int64_t rows) {
  return per == Per::element ? rows * output.row_elements : per == Per::row ? rows : output.row_elements;
}

}  // namespace

DeviceReferences::DeviceReferences(std::unique_ptr<DeviceOracle> oracle, size_t memory, void* stream,
                                   DeviceMemory* serving)
    : oracle_(std::move(oracle)), stream_(stream), references_(oracle_->outputs().size()) {
  const int64_t rows = oracle_->rows();
  int64_t fits = 0;  // the most rows that do, by bisection
  for (int64_t low = 1, high = rows; low <= high;) {
    const int64_t middle = low + (high - low) / 2;
    if (place(middle, nullptr) <= memory) {
      fits = middle;
      low = middle + 1;
    } else {
      high = middle - 1;
    }
  }
  if (rows > 0 && fits == 0) {
    throw Error("oracle on the device: one row takes " + std::to_string(place(1, nullptr)) + " bytes, and only " +
                std::to_string(memory) + " may be used");
  }
  chunk_rows_ = fits;
  DeviceMemory& room = serving == nullptr ? memory_ : *serving;
  if (room.bytes() < place(fits, nullptr)) {
    room = {};  // given back first
    room = DeviceMemory(place(fits, nullptr));
  }
  place(fits, room.data());
}

size_t DeviceReferences::place(int64_t rows, std::byte* memory) {
  Shelf shelf(memory);
  int64_t most = 0;
  for (size_t o = 0; o < references_.size(); ++o) {
    const DeviceOutput& output = oracle_->outputs()[o];
    DeviceReference& r = references_[o];
    const int64_t elements = rows * output.row_elements;
    r.hi = shelf.take<double>(elements);
    r.lo = shelf.take<double>(elements);
    r.e_ref = shelf.take<double>(elements);
    for (size_t c = 0; c < output.conditions.size(); ++c) {
      r.conditions[c] = shelf.take<double>(values(output, output.conditions[c], rows));
    }
    most = std::max(most, elements);
  }
  bounds_.e_alg = shelf.take<double>(most);
  bounds_.evidence = shelf.take<Evidence>(most);
  return shelf.used();
}

void DeviceReferences::for_each_chunk(const std::function<void(const Chunk&)>& visit) {
  const int64_t rows = oracle_->rows();
  int64_t first = 0;
  do {  // no rows are one chunk: columns have conditions all the same
    const int64_t count = std::min(chunk_rows_, rows - first);
    if (!kept_) oracle_->compute(first, count, references_, stream_);
    kept_ = count == rows;
    visit({first, count, references_});
    first += count;
  } while (first < rows);
}

std::vector<ErrorSummary> DeviceReferences::judge(std::span<const DeviceTensor> outputs, const Contract& contract) {
  const std::vector<DeviceOutput>& answers = oracle_->outputs();
  if (outputs.size() != answers.size()) throw Error("oracle on the device: not one tensor an output");
  std::vector<DeviceAccuracy> judges;
  for (size_t o = 0; o < outputs.size(); ++o) judges.emplace_back(*outputs[o].spec, answers[o], contract, stream_);
  for_each_chunk([&](const Chunk& chunk) {
    for (size_t o = 0; o < outputs.size(); ++o) {
      const DeviceReference& reference = chunk.references[o];
      oracle_->bounds(contract, o, chunk.rows, reference, bounds_, stream_);
      const int64_t length = answers[o].row_elements;
      judges[o].judge(outputs[o].data, chunk.first * length, chunk.rows * length, reference, bounds_);
    }
  });
  std::vector<ErrorSummary> errors;
  for (DeviceAccuracy& judge : judges) errors.push_back(judge.finish());
  return errors;
}

void DeviceReferences::add_chunks_to(TruthBuilder& truth, size_t o) {
  const DeviceOutput& output = oracle_->outputs()[o];
  for_each_chunk([&](const Chunk& all) {
    const int64_t count = all.rows * output.row_elements;
    std::vector<TruthChunk> chunks(
        static_cast<size_t>(hash_chunks(count * static_cast<int64_t>(size_of(output.dtype)))));
    auto* const found = reinterpret_cast<TruthChunk*>(bounds_.e_alg);  // in the place of the bounds, which is larger
    if (!chunks.empty()) {
      with_dtype(output.dtype, [&](auto type) {
        digest_proven<decltype(type)::value><<<static_cast<unsigned>(chunks.size()), kThreads, 0, stream_of(stream_)>>>(
            all.references[o], output.bitwise, count, found);
        require_launched("truth");
      });
      copy_to_host(chunks.data(), found, chunks.size() * sizeof chunks[0], stream_);
    }
    truth.add_chunks(output.dtype, count, chunks);
  });
}

void DeviceReferences::add_to(TruthBuilder& truth) {
  for (size_t o = 0; o < references_.size(); ++o) {
    if (truth.of_sweep() && chunk_rows_ == oracle_->rows()) {
      add_chunks_to(truth, o);
      continue;
    }
    const DeviceOutput& output = oracle_->outputs()[o];
    const size_t size = size_of(output.dtype);
    std::vector<std::byte> elements;
    std::vector<uint8_t> straddles;
    const auto add = [&] {
      truth.add_rounded(output.dtype, static_cast<int64_t>(straddles.size()), elements.data(), straddles.data());
      elements.clear();
      straddles.clear();
    };
    for_each_chunk([&](const Chunk& chunk) {
      const int64_t count = chunk.rows * output.row_elements;
      if (count == 0) return;
      // In the place of the bounds, which hold as many elements of 8 bytes and of one.
      void* rounded = bounds_.e_alg;
      auto* straddling = reinterpret_cast<uint8_t*>(bounds_.evidence);
      with_dtype(output.dtype, [&](auto type) {
        constexpr DType T = decltype(type)::value;
        round_proven<T><<<blocks_for(count), kThreads, 0, stream_of(stream_)>>>(
            chunk.references[o], output.bitwise, count, static_cast<BitsOf<size_of(T)>*>(rounded), straddling);
        require_launched("truth");
      });
      const size_t before = straddles.size(), more = static_cast<size_t>(count);
      elements.resize((before + more) * size);
      straddles.resize(before + more);
      copy_to_host(elements.data() + before * size, rounded, more * size, stream_);
      copy_to_host(straddles.data() + before, straddling, more, stream_);
      if (!truth.of_sweep()) add();
    });
    if (truth.of_sweep()) add();  // it takes an output whole
  }
}

std::vector<Reference> DeviceReferences::download() {
  const int64_t rows = oracle_->rows();
  std::vector<Reference> all;
  for (const DeviceOutput& output : oracle_->outputs()) {
    Reference& r = all.emplace_back();
    r.tensor = output.tensor;
    r.dtype = output.dtype;
    r.bitwise = output.bitwise;
    for (auto* part : {&r.hi, &r.lo, &r.e_ref}) part->resize(static_cast<size_t>(rows * output.row_elements));
    for (const Per per : output.conditions) r.conditions.emplace_back(static_cast<size_t>(values(output, per, rows)));
  }
  for_each_chunk([&](const Chunk& chunk) {
    for (size_t o = 0; o < all.size(); ++o) {
      const DeviceOutput& output = oracle_->outputs()[o];
      const auto fetch = [&](std::vector<double>& to, const double* from, Per per) {
        const int64_t first = per == Per::column ? 0 : values(output, per, chunk.first);
        copy_to_host(to.data() + first, from, static_cast<size_t>(values(output, per, chunk.rows)) * sizeof(double),
                     stream_);
      };
      const DeviceReference& r = chunk.references[o];
      fetch(all[o].hi, r.hi, Per::element);
      fetch(all[o].lo, r.lo, Per::element);
      fetch(all[o].e_ref, r.e_ref, Per::element);
      for (size_t c = 0; c < output.conditions.size(); ++c) {
        fetch(all[o].conditions[c], r.conditions[c], output.conditions[c]);
      }
    }
  });
  return all;
}

std::unique_ptr<DeviceReferences> device_references(const Case& c, std::span<const DeviceTensor> tensors, size_t memory,
                                                    void* stream, DeviceMemory* serving) {
  std::unique_ptr<DeviceOracle> oracle = make_device_oracle(c, tensors);
  if (oracle == nullptr) return nullptr;
  return std::make_unique<DeviceReferences>(std::move(oracle), memory, stream, serving);
}

}  // namespace assay
