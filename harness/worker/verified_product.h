// A large product of integers judged by Freivalds (check/freivalds.h) in the place of its oracle, whose time is the
// cube of the size.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "worker/laboratory.h"

namespace assay {

class VerifiedProduct : public Expectation {
 public:
  VerifiedProduct(Freivalds freivalds) : freivalds_(std::move(freivalds)) {}

  std::vector<ErrorSummary> judge(std::span<const Content> outputs, const Contract& contract) override {
    return {freivalds_.judge(outputs[0].data(), contract)};
  }
  bool add_to(TruthBuilder&) override { return false; }
  std::string how() const override;

 private:
  Freivalds freivalds_;
};

// Sums of products of a case, all of its batch together; 0 for an op that multiplies no matrices.
int64_t products_of(const Op& op, const Case& c);

// Of `c`, filled from `seed` with `contents` as for Laboratory::expectation(), under `contract`. Null where Freivalds
// cannot stand for the oracle: `why` says what it lacks.
std::unique_ptr<Expectation> verified_product(Laboratory& laboratory, const Op& op, const Case& c,
                                              const Contract& contract, uint64_t seed, int threads,
                                              std::span<const Content* const> contents, std::string& why);

// What judges the answer to `c`: that where the case has many products, else the oracle.
std::unique_ptr<Expectation> expectation_of(const JudgeSettings& settings, Laboratory& laboratory, const Op& op,
                                            const Case& c, const Contract& contract, uint64_t seed,
                                            std::span<const Content* const> contents);

}  // namespace assay
