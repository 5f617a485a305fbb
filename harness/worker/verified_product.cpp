#include "worker/verified_product.h"

#include "core/matrix_product.h"

namespace assay {
namespace {

const MatrixProductOp* as_product(const Op& op) { return dynamic_cast<const MatrixProductOp*>(&op); }

}  // namespace

std::string VerifiedProduct::how() const {
  std::string text = "Freivalds modulo 2^61 - 1, sums of at most " + print_number(freivalds_.bound());
  if (freivalds_.wrong_rows() > 1) {
    text += "; " + std::to_string(freivalds_.wrong_rows()) +
            " rows are wrong: of each but the first, one element is counted";
  }
  return text;
}

int64_t products_of(const Op& op, const Case& c) {
  const MatrixProductOp* product_op = as_product(op);
  if (product_op == nullptr) return 0;
  const MatrixProduct product = product_op->matrix_product(c);
  const std::vector<TensorSpec> specs = op.tensors(c);
  return specs[product.out].elements() * specs[product.left].shape[product.left_transposed ? 1 : 2];
}

std::unique_ptr<Expectation> verified_product(Laboratory& laboratory, const Op& op, const Case& c,
                                              const Contract& contract, uint64_t seed, int threads,
                                              std::span<const Content* const> contents, std::string& why) {
  const MatrixProductOp* product_op = as_product(op);
  if (product_op == nullptr) {
    why = std::string(op.name()) + " is no product of matrices";
    return nullptr;
  }
  std::vector<const void*> data;
  for (const Content* content : contents) data.push_back(content == nullptr ? nullptr : content->data());
  Freivalds freivalds(*product_op, c, op.tensors(c), data, seed, laboratory.matrix_passes(threads));
  why = freivalds.refusal(contract);
  return why.empty() ? std::make_unique<VerifiedProduct>(std::move(freivalds)) : nullptr;
}

std::unique_ptr<Expectation> expectation_of(const JudgeSettings& settings, Laboratory& laboratory, const Op& op,
                                            const Case& c, const Contract& contract, uint64_t seed,
                                            std::span<const Content* const> contents) {
  if (products_of(op, c) >= settings.products_verified) {
    std::string why_not;  // the oracle answers then, as it does for anything smaller
    auto verified = verified_product(laboratory, op, c, contract, seed, settings.threads, contents, why_not);
    if (verified) return verified;
  }
  return laboratory.expectation(op, c, seed, settings.threads, contents);
}

}  // namespace assay
