#include "worker/laboratory_cuda.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "check/device_bytes.h"
#include "check/device_freivalds.h"
#include "check/device_references.h"
#include "check/device_relations.h"
#include "core/device_memory.h"
#include "fill/device_fill.h"

namespace assay {
namespace {

// What references may take, if that leaves as much for contents: those of an 8192 x 8192 output fit; larger ones are
// computed piece by piece.
constexpr size_t kReferences = size_t{16} << 30;

class CudaExpectation : public Expectation {
 public:
  // `serving` as for DeviceReferences.
  CudaExpectation(const Op& op, const Case& c, std::span<const Content* const> contents,
                  DeviceMemory* serving = nullptr)
      : specs_(op.tensors(c)) {
    std::vector<DeviceTensor> tensors;
    for (size_t i = 0; i < specs_.size(); ++i) {
      tensors.push_back({&specs_[i], contents[i] == nullptr ? nullptr : contents[i]->data()});
    }
    const bool serves = serving != nullptr && serving->bytes() > 0;  // and was found to be what may be taken
    const size_t memory = serves ? serving->bytes() : std::min(kReferences, free_device_memory() / 2);
    references_ = device_references(c, tensors, memory, nullptr, serving);
  }

  std::vector<ErrorSummary> judge(std::span<const Content> outputs, const Contract& contract) override {
    return references_->judge(tensors_of(outputs), contract);
  }

  uint64_t hash_by_chunks(std::span<const Content> outputs, uint64_t hash) const {
    for (const DeviceTensor& t : tensors_of(outputs)) hash = hash_elements_by_chunks_on_device(*t.spec, t.data, hash);
    return hash;
  }

  bool add_to(TruthBuilder& truth) override {
    references_->add_to(truth);
    return true;
  }

 private:
  std::vector<DeviceTensor> tensors_of(std::span<const Content> outputs) const {
    std::vector<DeviceTensor> tensors;
    for (const TensorSpec& spec : specs_) {
      if (spec.role != Role::input) tensors.push_back({&spec, outputs[tensors.size()].data()});
    }
    return tensors;
  }

  std::vector<TensorSpec> specs_;
  std::unique_ptr<DeviceReferences> references_;
};

class CudaLaboratory : public Laboratory {
 public:
  bool is_on_host() const override { return false; }

  // To allocate, and to give back, takes as long as to go through some megabytes: what nobody holds any more serves
  // again.
  Content hold(uint64_t bytes) override {
    constexpr uint64_t kWorthKeeping = uint64_t{64} << 20;
    constexpr size_t kMostSpare = 8;
    const auto is_spare = [](const auto& memory) { return memory.use_count() == 1; };
    for (const auto& memory : small_) {
      if (is_spare(memory) && memory->bytes() == bytes) return {memory->data(), bytes, memory};
    }
    auto memory = std::make_shared<DeviceMemory>(bytes);
    if (bytes <= kWorthKeeping) {
      if (std::count_if(small_.begin(), small_.end(), is_spare) >= std::ptrdiff_t{kMostSpare}) {
        std::erase_if(small_, is_spare);
      }
      small_.push_back(memory);
    }
    return {memory->data(), bytes, memory};
  }
  void poison(const TensorSpec& spec, Poison poison, Content& content) override {
    fill_poison_on_device(content.data(), content.size(), 0, spec.dtype, poison);
    wait_for_device();
  }
  void fill(const TensorSpec& spec, uint64_t seed, Content& content) override {
    fill_on_device(spec, seed, content.data());
    wait_for_device();
  }
  void reverse(const TensorSpec& spec, int axis, Content& content) override {
    reverse_on_device(spec, axis, content.data());
  }
  void put_among_zeros(const TensorSpec& spec, const Content& content, const TensorSpec& larger_spec,
                       Content& larger) override {
    put_among_zeros_on_device(spec, content.data(), larger_spec, larger.data());
  }
  void set_nan(const TensorSpec& spec, const Slice& slice, Content& content) override {
    set_nan_on_device(slice, spec, content.data());
  }
  void scale(const TensorSpec& spec, int power, Content& content) override {
    scale_on_device(spec, power, content.data());
  }

  uint64_t element(const TensorSpec& spec, const Content& content, int64_t i) override {
    const size_t size = size_of(spec.dtype);
    uint64_t bits = 0;
    copy_to_host(&bits, content.data() + offset_of(spec, i) * static_cast<int64_t>(size), size);
    return bits;
  }
  uint64_t hash(const TensorSpec& spec, const Content& content, uint64_t seed) override {
    return hash_elements_on_device(spec, content.data(), seed);
  }
  uint64_t hash_by_chunks(const TensorSpec& spec, const Content& content, uint64_t seed) override {
    return hash_elements_by_chunks_on_device(spec, content.data(), seed);
  }
  Majority majority(const TensorSpec& spec, const Content& content) override {
    return majority_on_device(spec, content.data());
  }
  GuardReport padding(const TensorSpec& spec, const Content& content, Poison poison) override {
    return check_padding_on_device(spec, content.data(), poison);
  }
  ByteDifference difference(const TensorSpec& spec, const Content& a, const Content& b) override {
    return compare_bytes_on_device(spec, a.data(), b.data());
  }
  Unwritten unwritten(const TensorSpec& spec, const Content& after_first, const Content& after_second,
                      bool single_bytes) override {
    return find_unwritten_on_device(spec, after_first.data(), after_second.data(), single_bytes);
  }
  int64_t changed_outside(const Slice& slice, const TensorSpec& spec, const Content& before,
                          const Content& after) override {
    return changed_outside_on_device(slice, spec, before.data(), after.data());
  }
  int64_t number_in(const Slice& slice, const TensorSpec& spec, const Content& content) override {
    return number_in_on_device(slice, spec, content.data());
  }
  int64_t changed_in_leading_part(const TensorSpec& whole_spec, const Content& whole, const TensorSpec& part_spec,
                                  const Content& part) override {
    return changed_in_leading_part_on_device(whole_spec, whole.data(), part_spec, part.data());
  }
  Scaling scaling(const TensorSpec& spec, int power, const Content& before, const Content& after) override {
    return scaling_on_device(spec, power, before.data(), after.data());
  }

  std::unique_ptr<MatrixPasses> matrix_passes(int) override { return make_device_passes(); }

  std::unique_ptr<Expectation> expectation(const Op& op, const Case& c, std::optional<uint64_t>, int,
                                           std::span<const Content* const> contents) override {
    return std::make_unique<CudaExpectation>(op, c, contents);
  }

  std::vector<ErrorSummary> judge_once(const Op& op, const Case& c, uint64_t, int,
                                       std::span<const Content* const> contents, std::span<const Content> outputs,
                                       const Contract& contract, TruthBuilder& truth, uint64_t& hash) override {
    CudaExpectation once(op, c, contents, &references_);
    once.add_to(truth);
    hash = once.hash_by_chunks(outputs, hash);
    return once.judge(outputs, contract);
  }

 private:
  std::vector<std::shared_ptr<DeviceMemory>> small_;  // held by somebody, or spare
  DeviceMemory references_;                           // of judge_once(), part after part
};

}  // namespace

std::unique_ptr<Laboratory> make_cuda_laboratory() { return std::make_unique<CudaLaboratory>(); }

}  // namespace assay
