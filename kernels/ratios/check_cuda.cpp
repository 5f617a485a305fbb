#include "check_cuda.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <exception>
#include <vector>

#include "check/accuracy.h"
#include "core/error.h"
#include "fill/fill.h"
#include "subject_cuda.h"

namespace assay::ratios {
namespace {

constexpr std::byte kPoison{0xa5};

// A case's memory before and after a launch.
struct Run {
  std::vector<TensorSpec> tensors;
  Layout layout;
  Contract contract;
  std::vector<std::byte> before, after;

  const std::byte* first_element(const std::vector<std::byte>& memory, size_t t) const {
    return memory.data() + layout.regions[t].block_offset + layout.regions[t].first;
  }
};

Run run(const Op& op, const Case& c, const assay_kernel& kernel, int threads) {
  CudaSubject subject(op, c, kernel, kernel.contract.alignment);
  Run r{subject.tensors(), subject.layout(), contract_from(subject.contract()), {}, {}};
  r.before.assign(r.layout.total, kPoison);
  for (size_t t = 0; t < r.tensors.size(); ++t) {
    if (r.tensors[t].role == Role::output || !r.tensors[t].is_read) continue;
    fill_tensor(r.tensors[t], static_cast<uint64_t>(c.integer("seed")),
                const_cast<std::byte*>(r.first_element(r.before, t)), threads);
  }
  require(cudaMemcpy(subject.memory(), r.before.data(), r.layout.total, cudaMemcpyHostToDevice), "copy to the device");
  subject.launch(nullptr);
  require(cudaDeviceSynchronize(), "kernel");
  r.after.resize(r.layout.total);
  require(cudaMemcpy(r.after.data(), subject.memory(), r.layout.total, cudaMemcpyDeviceToHost), "copy to the host");
  return r;
}

// Bytes of each output, or input, in logical order: a leading part's are the first of the whole's.
std::vector<std::vector<std::byte>> logical(const Run& r, bool outputs) {
  std::vector<std::vector<std::byte>> all;
  for (size_t t = 0; t < r.tensors.size(); ++t) {
    const TensorSpec& spec = r.tensors[t];
    if ((spec.role != Role::input) != outputs) continue;
    std::vector<std::byte>& bytes = all.emplace_back();
    const std::byte* first = r.first_element(r.after, t);
    const size_t size = size_of(spec.dtype);
    for (int64_t i = 0; i < spec.elements(); ++i) {
      const std::byte* element = first + offset_of(spec, i) * static_cast<int64_t>(size);
      bytes.insert(bytes.end(), element, element + size);
    }
  }
  return all;
}

bool same_start(const std::vector<std::vector<std::byte>>& a, const std::vector<std::vector<std::byte>>& b) {
  for (size_t t = 0; t < a.size(); ++t) {
    if (std::memcmp(a[t].data(), b[t].data(), std::min(a[t].size(), b[t].size())) != 0) return false;
  }
  return true;
}

// The first byte that changed and is neither an output's nor the workspace's, or -1.
int64_t strayed(const Run& r) {
  std::vector<std::byte> expected = r.before;
  for (size_t t = 0; t < r.tensors.size(); ++t) {
    const TensorSpec& spec = r.tensors[t];
    if (spec.role == Role::input) continue;
    const auto size = static_cast<int64_t>(size_of(spec.dtype));
    const auto offset = r.first_element(r.before, t) - r.before.data();
    for (int64_t i = 0; i < spec.elements(); ++i) {
      const int64_t at = offset + offset_of(spec, i) * size;
      std::memcpy(expected.data() + at, r.after.data() + at, static_cast<size_t>(size));
    }
  }
  const Region& workspace = r.layout.regions.back();
  const uint64_t scratch = workspace.block_offset + workspace.first;
  std::memcpy(expected.data() + scratch, r.after.data() + scratch, workspace.bytes);
  for (size_t i = 0; i < expected.size(); ++i) {
    if (expected[i] != r.after[i]) return static_cast<int64_t>(i);
  }
  return -1;
}

std::string accuracy(const Op& op, const Case& c, const Run& r, int threads) {
  std::vector<TensorView> views;
  for (size_t t = 0; t < r.tensors.size(); ++t) {
    const bool given = r.tensors[t].role != Role::output;
    views.push_back({&r.tensors[t], given ? r.first_element(r.before, t) : nullptr});
  }
  const std::vector<Reference> references = op.oracle(c, views, threads);
  size_t next = 0;
  std::string wrong;
  for (size_t t = 0; t < r.tensors.size(); ++t) {
    if (r.tensors[t].role == Role::input) continue;
    const Reference& reference = references[next++];
    const ErrorSummary e = judge_accuracy(r.tensors[t], r.first_element(r.after, t), reference,
                                          op.bounds(c, r.contract, reference), r.contract);
    if (e.failures == 0) continue;
    char text[200];
    std::snprintf(text, sizeof text, " %s[%lld] = %.9g, want %.9g +- %.3g (%lld wrong)", e.tensor.c_str(),
                  static_cast<long long>(e.worst_index), e.worst_got, e.worst_want, e.worst_bound,
                  static_cast<long long>(e.failures));
    wrong += text;
  }
  return wrong;
}

// What is wrong with one case, or empty.
std::string fault(const Op& op, const Case& c, const assay_kernel& kernel, int threads) {
  const Run first = run(op, c, kernel, threads);
  if (std::string why = op.cap_violation(first.contract); !why.empty()) return " contract: " + why;
  std::string wrong = accuracy(op, c, first, threads);
  if (const int64_t at = strayed(first); at >= 0) wrong += " wrote byte " + std::to_string(at) + " of the arena";
  const std::vector<std::vector<std::byte>> bytes = logical(first, true);
  const auto same = [&](uint32_t promise, const char* name, const Case& other) {
    if (!first.contract.promised(promise)) return;
    const Run again = run(op, other, kernel, threads);
    if (promise == ASSAY_SAME_BATCH && !same_start(logical(first, false), logical(again, false))) return;
    const std::vector<std::vector<std::byte>> others = logical(again, true);
    if (!same_start(bytes, others)) wrong += std::string(" not the same: ") + name;
  };
  same(ASSAY_SAME_RUN, "repeated", c);
  same(ASSAY_SAME_ALIGNMENT, "moved",
       c.with({{"offset", std::to_string(c.integer("offset") + 1)}, {"place", "start"}}));
  if (const auto padded = op.padded(c)) same(ASSAY_SAME_PADDING, "padded", *padded);
  if (const auto part = op.leading_part(c)) same(ASSAY_SAME_BATCH, "alone", *part);
  return wrong;
}

}  // namespace

int check_kernel(const Op& op, const std::string& kernel_name, Tier tier, const std::string& filter,
                 const std::filesystem::path& modules, int threads) {
  const assay_kernel& kernel = cuda_kernel(modules, std::string(op.name()), kernel_name);
  int failures = 0, passed = 0, refused = 0;
  for (const Case& c : op.cases(tier)) {
    const std::string id = c.kernel_id(kernel_name);
    if (id.find(filter) == std::string::npos) continue;
    std::string wrong;
    if (!unclaimed(contract_from(kernel.contract), c).empty()) {
      ++refused;
      continue;
    }
    try {
      wrong = fault(op, c, kernel, threads);
    } catch (const std::exception& e) {
      wrong = std::string(" ") + e.what();
    }
    wrong.empty() ? ++passed : ++failures;
    if (!wrong.empty()) std::printf("%s:%s\n", id.c_str(), wrong.c_str());
  }
  std::printf("%s/%s: %d cases passed, %d failed, %d not claimed\n", std::string(op.name()).c_str(),
              kernel_name.c_str(), passed, failures, refused);
  std::fflush(stdout);
  return failures;
}

}  // namespace assay::ratios
