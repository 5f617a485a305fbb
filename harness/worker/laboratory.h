// Where the judge keeps contents (of inputs, and of outputs after a launch), makes them, compares them and holds them
// against the oracle: in the host's memory, or in that of a GPU, from where no tensor then comes to the host. Both give
// the same answers, every bit: which one serves a case is chosen once, in make_laboratory(), for speed alone.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "check/bytes.h"
#include "check/freivalds.h"
#include "check/guard.h"
#include "check/poison.h"
#include "check/relations.h"
#include "check/trust.h"
#include "check/truth.h"
#include "core/op.h"
#include "record/record.h"
#include "worker/judge_client.h"
#include "worker/oracle_cache.h"

namespace assay {

// The bytes of a tensor from its first element to its last, padding included, where its laboratory keeps them.
class Content {
 public:
  Content() = default;
  Content(std::byte* data, size_t bytes, std::shared_ptr<void> owner) : bytes_(data, bytes), owner_(std::move(owner)) {}
  Content(Content&&) = default;
  Content& operator=(Content&&) = default;

  std::byte* data() const { return bytes_.data(); }
  size_t size() const { return bytes_.size(); }
  std::span<std::byte> bytes() const { return bytes_; }

 private:
  std::span<std::byte> bytes_;
  std::shared_ptr<void> owner_;
};

// What the oracle says of the outputs of one case. The inputs it was asked about stay as they are meanwhile.
class Expectation {
 public:
  virtual ~Expectation() = default;
  // `outputs` in tensor order.
  virtual std::vector<ErrorSummary> judge(std::span<const Content> outputs, const Contract& contract) = 0;
  // False: what it judges by does not give each element's value, and nothing was added.
  virtual bool add_to(TruthBuilder& truth) = 0;
  // What the record says of how judge() judged; empty: by the oracle.
  virtual std::string how() const { return ""; }
};

// A TensorSpec goes with each content and says where its elements lie.
class Laboratory {
 public:
  virtual ~Laboratory() = default;

  // Whether contents take the machine's own memory: a case that needs more of it than there is must not be begun.
  virtual bool is_on_host() const = 0;

  virtual Content hold(uint64_t bytes) = 0;  // undefined bytes. Throws when there is no memory for them.
  virtual void poison(const TensorSpec& spec, Poison poison, Content& content) = 0;  // padding included
  virtual void fill(const TensorSpec& spec, uint64_t seed, Content& content) = 0;    // the elements alone
  virtual void reverse(const TensorSpec& spec, int axis, Content& content) = 0;
  virtual void put_among_zeros(const TensorSpec& spec, const Content& content, const TensorSpec& larger_spec,
                               Content& larger) = 0;
  virtual void set_nan(const TensorSpec& spec, const Slice& slice, Content& content) = 0;
  virtual void scale(const TensorSpec& spec, int power, Content& content) = 0;

  virtual uint64_t element(const TensorSpec& spec, const Content& content, int64_t i) = 0;  // bits
  virtual uint64_t hash(const TensorSpec& spec, const Content& content, uint64_t seed) = 0;
  virtual uint64_t hash_by_chunks(const TensorSpec& spec, const Content& content, uint64_t seed) = 0;
  virtual Majority majority(const TensorSpec& spec, const Content& content) = 0;
  virtual GuardReport padding(const TensorSpec& spec, const Content& content, Poison poison) = 0;
  virtual ByteDifference difference(const TensorSpec& spec, const Content& a, const Content& b) = 0;
  virtual Unwritten unwritten(const TensorSpec& spec, const Content& after_first, const Content& after_second,
                              bool single_bytes) = 0;
  virtual int64_t changed_outside(const Slice& slice, const TensorSpec& spec, const Content& before,
                                  const Content& after) = 0;
  virtual int64_t number_in(const Slice& slice, const TensorSpec& spec, const Content& content) = 0;
  virtual int64_t changed_in_leading_part(const TensorSpec& whole_spec, const Content& whole,
                                          const TensorSpec& part_spec, const Content& part) = 0;
  virtual Scaling scaling(const TensorSpec& spec, int power, const Content& before, const Content& after) = 0;

  // Over matrices whose elements lie in contents.
  virtual std::unique_ptr<MatrixPasses> matrix_passes(int threads) = 0;

  // Of `c` filled from `seed`, a part of a sweep that nobody asks about again: every figure of judge() and of add_to(),
  // and hash_by_chunks() of each output, the first continued from `hash`. Nothing is kept.
  virtual std::vector<ErrorSummary> judge_once(const Op& op, const Case& c, uint64_t seed, int threads,
                                               std::span<const Content* const> contents,
                                               std::span<const Content> outputs, const Contract& contract,
                                               TruthBuilder& truth, uint64_t& hash) = 0;

  // Of `c` filled from `seed`; without one, of contents that no seed gives. `contents` of every tensor of
  // op.tensors(c): inputs as filled, inout as before the launch, null for outputs.
  virtual std::unique_ptr<Expectation> expectation(const Op& op, const Case& c, std::optional<uint64_t> seed,
                                                   int threads, std::span<const Content* const> contents) = 0;
};

// For the cases in hand. The settings say from how many elements on a GPU's own memory serves.
std::unique_ptr<Laboratory> make_laboratory(const JudgeSettings& settings, OracleCache& oracles, const Op& op,
                                            const Case& c);

}  // namespace assay
