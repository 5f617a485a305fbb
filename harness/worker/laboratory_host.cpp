#include "worker/laboratory_host.h"

#include <algorithm>
#include <cstring>

#include "check/accuracy.h"
#include "check/element_runs.h"
#include "worker/fill_cache.h"

namespace assay {
namespace {

std::vector<TensorView> views_of(const std::vector<TensorSpec>& specs, std::span<const Content* const> contents) {
  std::vector<TensorView> views;
  for (size_t i = 0; i < specs.size(); ++i) {
    views.push_back({&specs[i], contents[i] == nullptr ? nullptr : contents[i]->data()});
  }
  return views;
}

// Of contents that nobody asks about again.
References computed(const Op& op, const Case& c, std::span<const TensorView> views, int threads) {
  return std::make_shared<const std::vector<Reference>>(op.oracle(c, views, threads));
}

class HostExpectation : public Expectation {
 public:
  HostExpectation(const Op& op, const Case& c, References references)
      : op_(op), case_(c), references_(std::move(references)) {
    for (TensorSpec& spec : op.tensors(c)) {
      if (spec.role != Role::input) outputs_.push_back(std::move(spec));
    }
  }

  std::vector<ErrorSummary> judge(std::span<const Content> outputs, const Contract& contract) override {
    std::vector<ErrorSummary> errors;
    for (size_t i = 0; i < outputs_.size(); ++i) {
      const Reference& reference = references_->at(i);
      const Bounds bounds = op_.bounds(case_, contract, reference);
      errors.push_back(judge_accuracy(outputs_[i], outputs[i].data(), reference, bounds, contract));
    }
    return errors;
  }

  uint64_t hash_by_chunks(std::span<const Content> outputs, uint64_t hash) const {
    for (size_t i = 0; i < outputs_.size(); ++i) hash = hash_elements_by_chunks(outputs_[i], outputs[i].data(), hash);
    return hash;
  }

  bool add_to(TruthBuilder& truth) override {
    for (const Reference& reference : *references_) truth.add(reference);
    return true;
  }

 private:
  const Op& op_;
  const Case case_;
  std::vector<TensorSpec> outputs_;
  References references_;
};

class HostLaboratory : public Laboratory {
 public:
  explicit HostLaboratory(OracleCache& oracles) : oracles_(oracles) {}

  bool is_on_host() const override { return true; }

  Content hold(uint64_t bytes) override {
    auto memory = std::make_shared_for_overwrite<std::byte[]>(bytes);
    std::byte* const data = memory.get();
    return {data, bytes, std::move(memory)};
  }
  void poison(const TensorSpec& spec, Poison poison, Content& content) override {
    fill_poison(content.data(), content.size(), 0, spec.dtype, poison);
  }
  void fill(const TensorSpec& spec, uint64_t seed, Content& content) override {
    fills_.fill(spec, seed, content.data());
  }
  void reverse(const TensorSpec& spec, int axis, Content& content) override {
    assay::reverse(spec, axis, content.data());
  }
  void put_among_zeros(const TensorSpec& spec, const Content& content, const TensorSpec& larger_spec,
                       Content& larger) override {
    assay::put_among_zeros(spec, content.data(), larger_spec, larger.data());
  }
  void set_nan(const TensorSpec& spec, const Slice& slice, Content& content) override {
    assay::set_nan(slice, spec, content.data());
  }
  void scale(const TensorSpec& spec, int power, Content& content) override {
    assay::scale(spec, power, content.data());
  }

  uint64_t element(const TensorSpec& spec, const Content& content, int64_t i) override {
    return load_bits(spec.dtype, content.data(), offset_of(spec, i));
  }
  uint64_t hash(const TensorSpec& spec, const Content& content, uint64_t seed) override {
    return hash_elements(spec, content.data(), seed);
  }
  uint64_t hash_by_chunks(const TensorSpec& spec, const Content& content, uint64_t seed) override {
    return hash_elements_by_chunks(spec, content.data(), seed);
  }
  Majority majority(const TensorSpec& spec, const Content& content) override {
    return majority_of(spec, content.data());
  }
  GuardReport padding(const TensorSpec& spec, const Content& content, Poison poison) override {
    return check_guards(spec, content.data(), content.size(), 0, poison);
  }
  ByteDifference difference(const TensorSpec& spec, const Content& a, const Content& b) override {
    if (a.size() == 0 || std::memcmp(a.data(), b.data(), a.size()) == 0) return {};  // padding included
    return compare_bytes(spec, a.data(), b.data());
  }
  Unwritten unwritten(const TensorSpec& spec, const Content& after_first, const Content& after_second,
                      bool single_bytes) override {
    return find_unwritten(spec, after_first.data(), after_second.data(), single_bytes);
  }
  int64_t changed_outside(const Slice& slice, const TensorSpec& spec, const Content& before,
                          const Content& after) override {
    return assay::changed_outside(slice, spec, before.data(), after.data());
  }
  int64_t number_in(const Slice& slice, const TensorSpec& spec, const Content& content) override {
    return assay::number_in(slice, spec, content.data());
  }
  int64_t changed_in_leading_part(const TensorSpec& whole_spec, const Content& whole, const TensorSpec& part_spec,
                                  const Content& part) override {
    return assay::changed_in_leading_part(whole_spec, whole.data(), part_spec, part.data());
  }
  Scaling scaling(const TensorSpec& spec, int power, const Content& before, const Content& after) override {
    return scaling_of(spec, power, before.data(), after.data());
  }

  std::unique_ptr<MatrixPasses> matrix_passes(int threads) override { return make_host_passes(threads); }

  std::unique_ptr<Expectation> expectation(const Op& op, const Case& c, std::optional<uint64_t> seed, int threads,
                                           std::span<const Content* const> contents) override {
    const std::vector<TensorSpec> specs = op.tensors(c);
    const auto views = [&] { return views_of(specs, contents); };
    return std::make_unique<HostExpectation>(
        op, c, seed ? oracles_.get(op, c, *seed, threads, views) : computed(op, c, views(), threads));
  }

  std::vector<ErrorSummary> judge_once(const Op& op, const Case& c, uint64_t, int threads,
                                       std::span<const Content* const> contents, std::span<const Content> outputs,
                                       const Contract& contract, TruthBuilder& truth, uint64_t& hash) override {
    const std::vector<TensorSpec> specs = op.tensors(c);
    const std::vector<TensorView> views = views_of(specs, contents);
    const auto output = std::find_if(specs.begin(), specs.end(), [](const auto& t) { return t.role != Role::input; });
    if (outputs.size() == 1 && is_packed(*output)) {
      if (const auto oracle = op.element_oracle(c, contract, views)) {
        std::vector<uint64_t> digests;
        ErrorSummary errors = judge_runs(*output, outputs[0].data(), *oracle, contract, threads, truth, &digests);
        hash = hash_of_chunks(digests, hash);
        return {std::move(errors)};
      }
    }
    HostExpectation once(op, c, computed(op, c, views, threads));
    once.add_to(truth);
    hash = once.hash_by_chunks(outputs, hash);
    return once.judge(outputs, contract);
  }

 private:
  OracleCache& oracles_;
  FillCache fills_;
};

}  // namespace

std::unique_ptr<Laboratory> make_host_laboratory(OracleCache& oracles) {
  return std::make_unique<HostLaboratory>(oracles);
}

}  // namespace assay
