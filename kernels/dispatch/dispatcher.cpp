#include "dispatch/dispatcher.h"

#include <assay/kernel.h>

#include <algorithm>
#include <exception>
#include <memory>

namespace assay::dispatch {
namespace {

struct Candidate {
  const assay_kernel* kernel;
  void* state = nullptr;    // null: not made yet, or it cannot run on this machine
  std::string unavailable;  // why it cannot
};

// A candidate's state is made when it is first asked: that of a library costs time and memory.
struct State {
  ~State() {
    for (const Candidate& c : candidates) {
      if (c.state != nullptr) c.kernel->destroy(c.state);
    }
  }
  assay_device device{};
  std::vector<Candidate> candidates;
  std::string error;
};

struct Plan {
  ~Plan() {
    if (chosen != nullptr) chosen->kernel->release(chosen->state, plan);
  }
  const State* state = nullptr;
  const Candidate* chosen = nullptr;
  void* plan = nullptr;
  assay_contract contract{};
  std::string reason;
  std::vector<std::string> answers;  // a candidate, in order: empty when nothing speaks against it
  std::string fallback, fallback_reason;
};

bool make(Candidate& c, assay_device device) {
  if (c.state == nullptr && c.unavailable.empty()) {
    const char* error = nullptr;
    c.state = c.kernel->create(device, &error);
    if (c.state == nullptr) c.unavailable = error == nullptr ? "not available on this machine" : error;
  }
  return c.state != nullptr;
}

// Asks one candidate after the other until one accepts. For those that come after it their contract answers: a plan
// that nobody runs may cost seconds, where a library compiles for it.
void choose(State& state, const assay_call& call, Plan& plan) {
  for (Candidate& c : state.candidates) {
    std::string& answer = plan.answers.emplace_back();
    if (plan.chosen != nullptr) {
      answer = c.unavailable.empty() ? unclaimed(c.kernel->contract.domain, call) : c.unavailable;
    } else if (!make(c, state.device)) {
      answer = c.unavailable;
    } else if (const char* refusal = c.kernel->prepare(c.state, &call, &plan.plan)) {
      answer = *refusal == '\0' ? "refused without a reason" : refusal;
    } else {
      plan.chosen = &c;
    }
  }
}

// A candidate preferred to the chosen one that claims the call and yet did not take it.
void note_fallback(const assay_call& call, Plan& plan) {
  for (size_t i = 0; &plan.state->candidates[i] != plan.chosen; ++i) {
    const assay_kernel& kernel = *plan.state->candidates[i].kernel;
    if (!plan.fallback.empty() || !unclaimed(kernel.contract.domain, call).empty()) continue;
    plan.fallback = kernel.name;
    plan.fallback_reason = plan.answers[i];
  }
}

std::string refusals(const Plan& plan) {
  std::string all;
  for (size_t i = 0; i < plan.answers.size(); ++i) {
    if (plan.answers[i].empty()) continue;
    all += (all.empty() ? "" : "; ") + std::string(plan.state->candidates[i].kernel->name) + ": " + plan.answers[i];
  }
  return all;
}

const char* prepare(void* opaque, const assay_call* call, void** result) {
  State& state = *static_cast<State*>(opaque);
  try {
    auto plan = std::make_unique<Plan>();
    plan->state = &state;
    choose(state, *call, *plan);
    if (plan->chosen == nullptr) {
      return (state.error = "no kernel accepts the call: " + refusals(*plan)).c_str();
    }
    note_fallback(*call, *plan);
    const assay_kernel& kernel = *plan->chosen->kernel;
    const auto position = static_cast<size_t>(plan->chosen - state.candidates.data());
    plan->reason =
        position == 0 ? "first in order of preference" : "first in order of preference that accepts the call";
    const assay_contract* special = kernel.plan_contract == nullptr ? nullptr : kernel.plan_contract(plan->plan);
    plan->contract = special == nullptr ? kernel.contract : *special;
    plan->contract.may_fall_back = 1;
    *result = plan.release();
    return nullptr;
  } catch (const std::exception& e) {
    return (state.error = e.what()).c_str();
  }
}

const Plan& planned(const void* plan) { return *static_cast<const Plan*>(plan); }

assay_workspace workspace(const void* opaque) {
  const Plan& plan = planned(opaque);
  return plan.chosen->kernel->workspace(plan.plan);
}

const assay_contract* plan_contract(const void* opaque) { return &planned(opaque).contract; }

const char* launch(const void* opaque, void* stream, void* const* pointers) {
  const Plan& plan = planned(opaque);
  return plan.chosen->kernel->launch(plan.plan, stream, pointers);
}

void describe(const void* opaque, assay_describe_sink emit, void* sink) {
  const Plan& plan = planned(opaque);
  emit(sink, "chosen", plan.chosen->kernel->name);
  emit(sink, "reason", plan.reason.c_str());
  for (size_t i = 0; i < plan.answers.size(); ++i) {
    const std::string key = std::string("candidate.") + plan.state->candidates[i].kernel->name;
    const bool was_asked = &plan.state->candidates[i] == plan.chosen;
    const char* none = was_asked ? "eligible" : "eligible by its contract, not asked";
    emit(sink, key.c_str(), plan.answers[i].empty() ? none : plan.answers[i].c_str());
  }
  if (!plan.fallback.empty()) {
    emit(sink, "fallback", plan.fallback.c_str());
    emit(sink, "fallback_reason", plan.fallback_reason.c_str());
  }
  if (plan.chosen->kernel->describe != nullptr) plan.chosen->kernel->describe(plan.plan, emit, sink);
}

// Of two fields of a matrix unit, 0 where the kernel uses none: the one that promises less.
int32_t weaker_unit(int32_t a, int32_t b) { return a == 0 || b == 0 ? std::max(a, b) : std::min(a, b); }

// What holds of both: never more than either declares. A matrix unit promises less than sums in f32 and f64.
assay_arithmetic weaker(const assay_arithmetic& a, const assay_arithmetic& b) {
  const bool depth_known = a.depth_divisor > 0 && b.depth_divisor > 0;
  const bool unit_in_a = a.accumulator == ASSAY_ACC_TENSOR, unit_in_b = b.accumulator == ASSAY_ACC_TENSOR;
  const bool never_promoted = (unit_in_a && a.tensor_promotion == 0) || (unit_in_b && b.tensor_promotion == 0);
  return {.accumulator = unit_in_a || unit_in_b ? int32_t{ASSAY_ACC_TENSOR} : std::min(a.accumulator, b.accumulator),
          .depth_divisor = depth_known ? std::min(a.depth_divisor, b.depth_divisor) : 0,
          .depth_constant = std::max(a.depth_constant, b.depth_constant),
          .split_k = std::max(a.split_k, b.split_k),
          .partial_type = std::min(a.partial_type, b.partial_type),
          .exp_kind = std::max(a.exp_kind, b.exp_kind),
          .rescales_online = std::max(a.rescales_online, b.rescales_online),
          .flushes_subnormals = std::max(a.flushes_subnormals, b.flushes_subnormals),
          .intermediate = std::min(a.intermediate, b.intermediate),
          .tensor_terms = weaker_unit(a.tensor_terms, b.tensor_terms),
          .tensor_fraction = weaker_unit(a.tensor_fraction, b.tensor_fraction),
          .tensor_precision = weaker_unit(a.tensor_precision, b.tensor_precision),
          .tensor_promotion = never_promoted ? 0 : std::max(a.tensor_promotion, b.tensor_promotion)};
}

}  // namespace

assay_contract combined_contract(const Candidates& candidates, std::string& domain) {
  assay_contract combined = candidates.front()->contract;
  combined.interface_version = 1;
  combined.owner = "kernels@assay.example";
  combined.may_fall_back = 1;  // that is what it is for; each is reported
  bool claims_everything = false;
  for (const assay_kernel* kernel : candidates) {
    const assay_contract& c = kernel->contract;
    const std::string claimed = c.domain == nullptr ? "" : c.domain;
    claims_everything = claims_everything || claimed.find_first_not_of(' ') == std::string::npos;
    domain += (domain.empty() ? "" : " | ") + claimed;
    combined.promises &= c.promises;
    combined.arithmetic = weaker(combined.arithmetic, c.arithmetic);
    combined.nan_policy = std::max(combined.nan_policy, c.nan_policy);
    combined.workspace_limit = std::max(combined.workspace_limit, c.workspace_limit);
    combined.alignment = std::max(combined.alignment, c.alignment);
    combined.may_allocate = std::max(combined.may_allocate, c.may_allocate);
  }
  if (claims_everything) domain.clear();
  combined.domain = domain.c_str();
  return combined;
}

void* create(const Candidates& candidates, assay_device device) {
  auto state = std::make_unique<State>();
  state->device = device;
  for (const assay_kernel* kernel : candidates) state->candidates.push_back({kernel, nullptr, ""});
  return state.release();
}

assay_kernel table(const char* op, const char* name, const char* target, const assay_contract& contract,
                   void* (*create_from_table)(assay_device device, const char** error)) {
  return {.name = name,
          .op = op,
          .target = target,
          .contract = contract,
          .create = create_from_table,
          .destroy = [](void* state) { delete static_cast<State*>(state); },
          .prepare = prepare,
          .release = [](void*, void* plan) { delete static_cast<Plan*>(plan); },
          .workspace = workspace,
          .plan_contract = plan_contract,
          .launch = launch,
          .describe = describe};
}

}  // namespace assay::dispatch
