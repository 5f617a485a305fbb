// The accuracy check: every output element inside the enclosure of check/enclosure.h, judged one by one, and the error
// statistics of a tensor.
//
// What an element must be, given r = hi + lo and E = e_alg + e_ref (rounded up):
//   r NaN          got NaN. Under ASSAY_NAN_UNSPECIFIED anything, and the element is no evidence. Integer outputs have
//   no
//                  NaN: they must be 0, what core/dtype.h makes of it.
//   r infinite     the same infinity (integers: the end of the range; e4m3, which has no infinity: NaN).
//   r finite       inside round(r - E) .. round(r + E); NaN never is, whatever the NaN policy. In e4m3 a NaN stands for
//                  the infinity at an end.
//   exact          (T0) E is e_ref alone, which is 0: got == round(r).
//   no_evidence    an intermediate may overflow: an infinity or NaN is allowed too, but a finite value must still be
//                  inside. An op whose overflow can leave a finite value (1 / inf) gives E = infinity there.
//   or_nan         correct implementations differ: a NaN is allowed too, beside what r demands.
//   bitwise        a zero must have the sign of r. Payloads of NaN do not survive a double: compare those with bytes.h.
// Zeros otherwise compare by value.
//
// Statistics are taken over every element with finite r and finite got that is evidence, failing ones included.
#pragma once

#include <cstddef>
#include <span>

#include "check/element.h"
#include "core/op.h"
#include "record/record.h"

namespace assay {

// `got` is element (0,...,0) of an output described by `spec`, on the host. Throws Error when the reference or the
// bounds do not have one entry an element: a harness fault that must not look like a pass.
ErrorSummary judge_accuracy(const TensorSpec& spec, const std::byte* got, const Reference& reference,
                            const Bounds& bounds, const Contract& contract);

// Adds what was found of elements that follow those of `all`: as if all were of one tensor, but that means are weighted
// by how many elements have a q.
void append(ErrorSummary& all, const ErrorSummary& more);

// The check "accuracy" of all outputs together. `weak` when any bound rests on an unknown depth, or when for fewer than
// half the elements the bound says anything (vacuous, or no evidence).
CheckResult accuracy_check(std::span<const ErrorSummary> outputs);

// One set of statistics for all outputs of a seed, each output weighted by its elements.
SeedStatistics seed_statistics(uint64_t seed, std::span<const ErrorSummary> outputs);

}  // namespace assay
