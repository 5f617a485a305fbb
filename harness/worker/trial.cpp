#include "worker/trial.h"

#include <algorithm>
#include <cstring>

#include "check/bytes.h"
#include "check/guard.h"
#include "core/error.h"
#include "device/available_memory.h"
#include "record/json.h"
#include "worker/wire.h"

namespace assay {
namespace {

using nlohmann::json;

constexpr int kSlot = 0;

Workspace workspace_from(const json& answer, const Contract& contract) {
  const json& w = answer.at("workspace");
  const Workspace workspace{w.at(0), std::max(w.at(1).get<uint64_t>(), uint64_t{1}),
                            w.at(2).get<int>() == ASSAY_WORKSPACE_ZERO};
  if (workspace.bytes > contract.workspace_limit) {
    throw ContractBroken("asks for " + std::to_string(workspace.bytes) +
                         " bytes of workspace, its contract's limit is " + std::to_string(contract.workspace_limit));
  }
  return workspace;
}

// What judging a case takes at its peak, the worker's share included: the arena; of the inputs, contents over two
// poisons in two trials and what the fill cache keeps; of the outputs, copies of launches and what the oracle says of
// an element (value, bounds, condition sums). An estimate, meant to err above.
uint64_t working_bytes(const std::vector<TensorSpec>& tensors, const Layout& layout, const Case& c) {
  constexpr uint64_t kOfAnElement = 64;
  const auto cached = static_cast<uint64_t>(3 + c.integer("seeds"));
  uint64_t bytes = layout.total + layout.total / 4;
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i].role != Role::output) bytes += (4 + cached) * layout.regions[i].length;
    if (tensors[i].role == Role::input) continue;
    bytes += 4 * layout.regions[i].length + kOfAnElement * static_cast<uint64_t>(tensors[i].elements());
  }
  return bytes;
}

// A machine that is out of memory ends processes as it likes, this one's and others'.
void require_memory(uint64_t needed, const Arena& arena) {
  constexpr uint64_t kAlwaysThere = 64 << 20;
  if (needed <= kAlwaysThere) return;
  const uint64_t available = available_memory(), held = arena.resident();
  if (needed <= available || needed - available <= held) return;
  throw Error("the case needs about " + std::to_string(needed >> 20) + " MiB of memory with its oracle and copies, " +
              std::to_string((available + held) >> 20) + " MiB are available");
}

}  // namespace

Trial::Trial(Subject& subject, Arena& arena, FillCache& fills, const KernelInfo& kernel, const Op& op, const Case& c,
             const Setting& setting)
    : subject_(&subject), arena_(&arena), fills_(&fills), tensors_(op.tensors(c)), contract_(kernel.contract) {
  const auto lay = [&] {
    layout_ = lay_out(tensors_, kernel.contract.alignment, setting.offset, setting.place, workspace_);
  };
  lay();
  json answer = subject.ask({{"do", "prepare"},
                             {"slot", kSlot},
                             {"module", kernel.module.string()},
                             {"op", kernel.op},
                             {"kernel", kernel.name},
                             {"call", call_to_json(c, tensors_, layout_, setting.threads)}});
  if (const auto refused = answer.find("refused"); refused != answer.end()) {
    refusal_ = refused->get<std::string>();
    if (refusal_.empty()) refusal_ = "refused without a reason";
    return;
  }
  if (const auto contract = answer.find("contract"); contract != answer.end()) {
    contract_ = contract_from_json(*contract);
  }
  workspace_ = workspace_from(answer, contract_);
  selection_ = answer.at("selection");
  prepare_us_ = answer.at("prepare_us");
  workspace_spec_.shape = {static_cast<int64_t>(workspace_.bytes)};
  lay();
  require_memory(working_bytes(tensors_, layout_, c), arena);
  arena.reserve(layout_.total);
  for (auto& content : content_) content.resize(tensors_.size());
}

std::vector<size_t> Trial::outputs() const {
  std::vector<size_t> found;
  for (size_t i = 0; i < tensors_.size(); ++i) {
    if (tensors_[i].role != Role::input) found.push_back(i);
  }
  return found;
}

void Trial::map() {
  subject_->share(*arena_);
  subject_->ask({{"do", "map"}, {"regions", regions_to_json(layout_.regions)}});
}

void Trial::fill(uint64_t seed) {
  for (size_t i = 0; i < tensors_.size(); ++i) refill(i, seed);
}

void Trial::refill(size_t i, uint64_t seed) {
  const TensorSpec& tensor = tensors_[i];
  if (tensor.role == Role::output) return;
  const Region& r = layout_.regions[i];
  for (const Poison poison : {Poison::first, Poison::second}) {
    std::vector<std::byte>& content = content_[static_cast<size_t>(poison)][i];
    content.resize(r.length);
    fill_poison(content.data(), r.length, r.first, tensor.dtype, poison);
    // Content that the contract says is not read stays poison.
    if (tensor.is_read) fills_->fill(tensor, seed, content.data() + r.first);
  }
}

void Trial::edit(size_t i, const std::function<double(int64_t, double)>& value) {
  const TensorSpec& tensor = tensors_[i];
  for (auto& contents : content_) {
    std::byte* first = contents[i].data() + layout_.regions[i].first;
    for (int64_t k = 0; k < tensor.elements(); ++k) {
      const int64_t at = offset_of(tensor, k);
      const double old = load(tensor.dtype, first, at);
      const double changed = value(k, old);
      if (!(changed == old)) store_bits(tensor.dtype, first, at, encode(tensor.dtype, changed));
    }
  }
}

std::vector<TensorView> Trial::inputs() const {
  std::vector<TensorView> views;
  for (size_t i = 0; i < tensors_.size(); ++i) {
    const auto& content = content_[0][i];
    views.push_back({&tensors_[i], content.empty() ? nullptr : content.data() + layout_.regions[i].first});
  }
  return views;
}

void Trial::arm(Poison poison) {
  const auto& contents = content_[static_cast<size_t>(poison)];
  for (size_t i = 0; i < layout_.regions.size(); ++i) {
    const Region& r = layout_.regions[i];
    if (i < tensors_.size() && !contents[i].empty()) {
      std::memcpy(region(i), contents[i].data(), r.length);
    } else {
      fill_poison(region(i), r.length, r.first, spec(i).dtype, poison);
    }
  }
  if (workspace_.zeroed) std::memset(region(tensors_.size()) + layout_.regions.back().first, 0, workspace_.bytes);
}

void Trial::look_for_strays(Poison poison) {
  const auto& contents = content_[static_cast<size_t>(poison)];
  for (size_t i = 0; i < layout_.regions.size(); ++i) {
    const Region& r = layout_.regions[i];
    const bool is_input = spec(i).role == Role::input && i < tensors_.size();
    if (is_input && std::memcmp(region(i), contents[i].data(), r.length) == 0) continue;
    const GuardReport report = check_guards(spec(i), region(i), r.length, r.first, poison);
    if (strays_.guards.empty()) strays_.guards = describe(spec(i), report);
    if (!is_input || !strays_.inputs.empty()) continue;
    strays_.inputs = describe(spec(i), compare_bytes(spec(i), contents[i].data() + r.first, region(i) + r.first));
  }
}

Outputs Trial::launch(Poison poison, Pace pace) {
  arm(poison);
  const json answer = subject_->ask({{"do", "launch"}, {"slot", kSlot}, {"held_up", pace == Pace::held_up}});
  if (const auto failed = answer.find("failed"); failed != answer.end()) {
    throw LaunchFailed("launch: " + failed->get<std::string>());
  }
  cost_ = {answer.at("launch_us"), answer.at("counted"), answer.at("allocations"), answer.at("outstanding")};
  look_for_strays(poison);
  Outputs copies;
  for (const size_t i : outputs()) {
    const Region& r = layout_.regions[i];
    copies.emplace_back(region(i) + r.first, region(i) + r.first + r.bytes);
  }
  return copies;
}

json Trial::time(json message) {
  arm(Poison::first);
  message["do"] = "sample";
  message["slot"] = kSlot;
  json ranges = json::array();
  for (size_t i = 0; i < tensors_.size(); ++i) {
    const Region& r = layout_.regions[i];
    ranges.push_back({i, r.first - r.base, r.bytes});
  }
  message["ranges"] = ranges;
  const double budget = message.at("seconds");
  return subject_->ask(message, std::chrono::duration<double>(60 + 10 * budget));
}

}  // namespace assay
