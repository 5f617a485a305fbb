// Accuracy and truth of an output whose oracle goes run by run (ElementOracle, core/op.h): every figure and bit that
// judge_accuracy() and TruthBuilder::add() give, without a whole reference. What is said of a run stays in a core's
// cache, threads share the runs, and f32, of which there are 2^32 elements to go through, is judged in loops that
// vectorise. Those take an element only where its verdict and figures are certain; any other is judge_element()'s.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "check/truth.h"
#include "core/op.h"
#include "record/record.h"

namespace assay {

// Whether elements lie one after the other in logical order, as is asked of an output here.
bool is_packed(const TensorSpec& spec);

// `got` is element (0,...,0) of an output described by `spec`, on the host. `digests`, where not null, gets those of
// the output's chunks (hash.h).
ErrorSummary judge_runs(const TensorSpec& spec, const std::byte* got, const ElementOracle& oracle,
                        const Contract& contract, int threads, TruthBuilder& truth,
                        std::vector<uint64_t>* digests = nullptr);

// The truth alone.
void add_truth_of_runs(const TensorSpec& spec, const ElementOracle& oracle, int threads, TruthBuilder& truth);

}  // namespace assay
