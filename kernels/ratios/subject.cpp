#include "subject.h"

#include <algorithm>
#include <cstring>

#include "core/error.h"
#include "fill/fill.h"
#include "load/module.h"

namespace assay::ratios {
namespace {

constexpr uint64_t kAlignment = 64;  // a cache line: the best case, for everyone

const assay_kernel& find_kernel(const std::filesystem::path& modules, const ParsedId& id) {
  const std::filesystem::path file = modules / (id.op + "_" + id.kernel + ".so");
  if (!std::filesystem::exists(file)) throw UsageError("no module " + file.filename().string());
  const assay_kernel* kernel = Module(file).find(id.op, id.kernel);
  if (kernel == nullptr) throw UsageError(file.filename().string() + " has no kernel " + id.op + "/" + id.kernel);
  return *kernel;
}

// Drawing numbers takes longer than using them: the first are drawn, the others repeat them.
void fill_repeatedly(const TensorSpec& tensor, std::byte* first, int threads) {
  constexpr int64_t kDrawn = 4'000'000;
  if (tensor.elements() <= kDrawn || tensor.span_elements() != tensor.elements()) {
    fill_tensor(tensor, 1, first, threads);
    return;
  }
  TensorSpec drawn = tensor;
  drawn.shape = {kDrawn};
  drawn.strides = {1};
  drawn.fill.axis = -1;
  fill_tensor(drawn, 1, first, threads);
  const int64_t drawn_bytes = kDrawn * static_cast<int64_t>(size_of(tensor.dtype));
  const int64_t bytes = tensor.elements() * static_cast<int64_t>(size_of(tensor.dtype));
#pragma omp parallel for num_threads(threads) schedule(static)
  for (int64_t at = drawn_bytes; at < bytes; at += drawn_bytes) {
    std::memcpy(first + at, first, static_cast<size_t>(std::min(drawn_bytes, bytes - at)));
  }
}

}  // namespace

Subject::Subject(const OpRegistry& ops, const std::filesystem::path& modules, const std::string& kernel_id, int threads,
                 const Arena& memory)
    : id_(kernel_id) {
  const ParsedId parsed = parse_id(kernel_id);
  const Op& op = ops.named(parsed.op);
  case_ = op.make(parsed.fields);
  kernel_ = &find_kernel(modules, parsed);
  const std::vector<TensorSpec> tensors = op.tensors(case_);

  const char* error = nullptr;
  state_ = kernel_->create({1, 0}, &error);
  if (state_ == nullptr) throw Error(error == nullptr ? "create failed" : error);
  const Layout planned = lay_out(tensors, kAlignment, 0, Place::start, {});
  call_ = std::make_unique<WireCall>(call_to_json(case_, tensors, planned, threads), assay_device{1, 0});
  if (const char* refusal = kernel_->prepare(state_, &call_->get(), &plan_)) {
    const std::string reason = refusal;
    kernel_->destroy(state_);
    throw Error("refused: " + reason);
  }
  const assay_workspace workspace = kernel_->workspace(plan_);
  const Layout layout = lay_out(tensors, kAlignment, 0, Place::start,
                                {workspace.bytes, std::max<uint64_t>(1, workspace.alignment), workspace.init != 0});

  if (layout.total > memory.bytes()) {
    release();
    throw Error("the tensors take " + std::to_string(layout.total >> 20) + " MiB");
  }
  uint64_t offset = 0;
  for (size_t i = 0; i < layout.regions.size(); ++i) {
    const Region& region = layout.regions[i];
    std::byte* const at = memory.data() + offset;
    offset += region.length;
    pointers_.push_back(at + region.base);
    if (i == tensors.size()) continue;
    bytes_ += tensors[i].elements() * size_of(tensors[i].dtype);
    std::byte* first = at + region.first;
    if (tensors[i].role != Role::output) fill_repeatedly(tensors[i], first, threads);
  }
}

void Subject::release() {
  kernel_->release(state_, plan_);
  kernel_->destroy(state_);
}

Subject::~Subject() { release(); }

void Subject::launch() {
  if (const char* error = kernel_->launch(plan_, nullptr, pointers_.data()))
    throw Error("launch: " + std::string(error));
}

}  // namespace assay::ratios
