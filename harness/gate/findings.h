// What a reviewer must see beside the verdicts: edits to what judges the change, and kernels, cases and checks that the
// base had and the change has not. Each needs the owner's approval. To add one: a function here, called in
// cli/run_command.cpp.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "gate/plan.h"
#include "gate/policy.h"
#include "golden/observed.h"
#include "record/run_json.h"

namespace assay {

// Files of golden, ci and .github that differ between two trees, with the lines added and removed and, but for policy,
// pins and goldens, what they do. Pages and tests judge nothing.
std::vector<Finding> edited_files(const std::filesystem::path& base, const std::filesystem::path& change);

// Files of the harness and the references that differ, and of CMake's that say how those are compiled, in one finding
// that says by whose harness the change is judged: the base's, when `judging`, the tree that this program was built
// from, is the base. ci/gate builds and uses that one unless why_not_by_base() says something. A line that registers a
// kernel or a test with CMake says nothing of the harness.
std::vector<Finding> edited_harness(const std::filesystem::path& base, const std::filesystem::path& change,
                                    const std::filesystem::path& judging);

// Why the base's harness cannot judge the change's kernels: another module ABI, other ops. Empty when it can.
std::string why_not_by_base(const std::filesystem::path& base, const std::filesystem::path& change);

// What a tree registers: the lines `assay_op(NAME)` of reference/CMakeLists.txt and `assay_kernel(OP FILE ...)` of
// kernels/CMakeLists.txt, as "gemm" and "gemm/simd". A missing file registers nothing.
std::vector<std::string> registered_ops(const std::filesystem::path& tree);
std::vector<std::string> registered_kernels(const std::filesystem::path& tree);
// Those of .cu files, and the dispatcher of each op that has one: what a build without a CUDA compiler leaves out.
std::vector<std::string> registered_cuda_kernels(const std::filesystem::path& tree);

// Kernels whose target is another than the base's, or whose contract is weaker (core/contract_change.h), as the base's
// golden/contracts.txt tells; kernels of the base of which it does not tell; and a file of the change that says
// otherwise than `kernels`, which are those of the change's build. A target of which none was built is that file's to
// tell.
std::vector<Finding> weakened_contracts(const std::filesystem::path& base, const std::filesystem::path& change,
                                        const std::vector<KernelInfo>& kernels);

// Names in `before` that are not in `now`: "`kind` gemm/simd is gone".
std::vector<Finding> removed(const std::string& what, const std::vector<std::string>& before,
                             const std::vector<std::string>& now);

std::vector<Finding> expired_known_issues(const Policy& policy, Date today);

// Kernels all of whose records are `unsupported`: `each` names them one by one; otherwise only when all of them are.
// One that lacks something of this machine, and of which the policy expects that, is no finding beside another of its
// op that was judged: nobody can mend that in the change.
std::vector<Finding> judged_nothing(const std::vector<Record>& records, bool each,
                                    const std::vector<NotEverywhere>& expected);

// Kernels with cases that were approved on this platform, and so were judged here, and that they refuse now: a claim
// withdrawn is a check less.
std::vector<Finding> no_longer_judged(const std::vector<Record>& records, const Approvals& approvals);

// Kernels with cases that were approved on this platform and were not compared with that, because a library was loaded
// after the module that nothing was approved with.
std::vector<Finding> no_longer_compared(const std::vector<Record>& records, const Approvals& approvals);

// Kernels that were judged and of which nothing was approved but with other libraries, `approved_with`
// (ObservedGoldens): with those that compute now none of their bits was compared.
std::vector<Finding> other_libraries(const std::vector<Record>& records,
                                     const std::map<std::string, std::string>& approved_with);

// Kernels with cases whose bits were approved on this platform and are not compared now, though the base's contracts
// (`before`) promise them: by the kernel's contract, or by that of a plan alone.
std::vector<Finding> no_longer_promised(const std::vector<Record>& records, const Approvals& approvals,
                                        const std::vector<KernelInfo>& before);

// Ops of which nothing is planned, because each kernel selected is for another device, but for those that the policy
// says have none for this one.
std::vector<Finding> ops_left_out(const Plan& plan, const std::string& device, const std::vector<NoKernel>& expected);

// Fewer planned than the policy's least for the tier; only asked of runs without filters and shards.
std::vector<Finding> too_few_cases(const Policy& policy, Tier tier, size_t planned);

// Everything above that compares a change with its base. `kernels` and `bench` are what this build was judged with.
std::vector<Finding> findings_against_base(const std::filesystem::path& base, const std::filesystem::path& change,
                                           const std::filesystem::path& judging, const std::vector<KernelInfo>& kernels,
                                           const OpRegistry& ops, const std::vector<BenchCase>& bench);

}  // namespace assay
