#include "worker/trial.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "core/error.h"
#include "device/available_memory.h"
#include "record/json.h"
#include "worker/fill_cache.h"
#include "worker/plan_contract.h"
#include "worker/wire.h"

namespace assay {
namespace {

using nlohmann::json;

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
  const uint64_t cached = std::min(static_cast<uint64_t>(3 + c.integer("seeds")), uint64_t{FillCache::kMostSeeds});
  uint64_t bytes = layout.total + layout.total / 4;
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i].role != Role::output) bytes += (4 + cached) * layout.regions[i].length;
    if (tensors[i].role == Role::input) continue;
    bytes += 4 * layout.regions[i].length + kOfAnElement * static_cast<uint64_t>(tensors[i].elements());
  }
  return bytes;
}

// A machine that is out of memory ends processes as it likes, this one's and others'.
void require_memory(uint64_t needed, const Memory& memory) {
  constexpr uint64_t kAlwaysThere = 64 << 20;
  if (needed <= kAlwaysThere) return;
  const uint64_t available = available_memory(), held = memory.host_bytes();
  if (needed <= available || needed - available <= held) return;
  throw Error("the case needs about " + std::to_string(needed >> 20) + " MiB of memory with its oracle and copies, " +
              std::to_string((available + held) >> 20) + " MiB are available");
}

Layout layout_of(const std::vector<TensorSpec>& tensors, uint64_t alignment, const Trial::Setting& setting,
                 const Workspace& workspace, const Memory& memory) {
  return lay_out(tensors, alignment, setting.offset, setting.place, workspace, memory.granularity(), setting.scatter);
}

json planning(const KernelInfo& kernel, const Case& c, const std::vector<TensorSpec>& tensors, const Layout& layout,
              const Trial::Setting& setting) {
  return {{"do", "prepare"}, {"slot", setting.slot},  {"module", kernel.module.string()},
          {"op", kernel.op}, {"kernel", kernel.name}, {"call", call_to_json(c, tensors, layout, setting.threads)}};
}

// What a worker found changed after a kernel's code had run in it.
void require_nothing_left(const char* call, const json& answer) {
  const std::string left = answer.value("left", "");
  if (!left.empty()) throw ContractBroken(std::string(call) + std::string(kLeavesChanged) + left);
}

}  // namespace

void Trial::begin(Subject& subject, const Memory& memory, const KernelInfo& kernel, const Op& op, const Case& c,
                  const Setting& setting) {
  const std::vector<TensorSpec> tensors = op.tensors(c);
  subject.begin(
      planning(kernel, c, tensors, layout_of(tensors, kernel.contract.alignment, setting, {}, memory), setting));
}

Trial::Trial(Subject& subject, Memory& memory, Laboratory& laboratory, const KernelInfo& kernel, const Op& op,
             const Case& c, const Setting& setting)
    : subject_(&subject),
      memory_(&memory),
      laboratory_(&laboratory),
      alignment_(kernel.contract.alignment),
      setting_(setting),
      tensors_(op.tensors(c)),
      contract_(kernel.contract) {
  layout_ = layout_of(tensors_, alignment_, setting_, workspace_, memory);
  json answer = subject.ask(planning(kernel, c, tensors_, layout_, setting));
  require_nothing_left("prepare", answer);
  if (const auto why = answer.find("unavailable"); why != answer.end()) {
    refusal_ = std::string(kNotAvailable) + why->get<std::string>();
    available_ = false;
    return;
  }
  if (const auto refused = answer.find("refused"); refused != answer.end()) {
    refusal_ = refused->get<std::string>();
    if (refusal_.empty()) refusal_ = "refused without a reason";
    return;
  }
  if (const auto contract = answer.find("contract"); contract != answer.end()) {
    contract_ = contract_from_json(*contract);
    if (const std::string why = plan_contract_violation(op, kernel.contract, contract_); !why.empty()) {
      throw ContractBroken(why);
    }
  }
  workspace_ = workspace_from(answer, contract_);
  selection_ = answer.at("selection");
  prepare_us_ = answer.at("prepare_us");
  workspace_spec_.shape = {static_cast<int64_t>(workspace_.bytes)};
  layout_ = layout_of(tensors_, alignment_, setting_, workspace_, memory);
  if (laboratory.is_on_host()) require_memory(working_bytes(tensors_, layout_, c), memory);
  take_memory();
  content_.resize(tensors_.size());
}

void Trial::take_memory() {
  for (size_t i = 0; i < layout_.regions.size(); ++i) {
    layout_.regions[i].filled =
        i < tensors_.size() ? tensors_[i].role != Role::output && tensors_[i].is_read : workspace_.zeroed;
  }
  memory_->place(layout_.regions);
}

void Trial::move(Place place) {
  setting_.place = place;
  layout_ = layout_of(tensors_, alignment_, setting_, workspace_, *memory_);
  take_memory();
  for (Filled& filled : content_) filled.is_kept = false;
}

std::vector<size_t> Trial::outputs() const {
  std::vector<size_t> found;
  for (size_t i = 0; i < tensors_.size(); ++i) {
    if (tensors_[i].role != Role::input) found.push_back(i);
  }
  return found;
}

void Trial::map(Addresses addresses) {
  subject_->share(*memory_, layout_.regions);
  subject_->ask(
      {{"do", "map"}, {"regions", regions_to_json(layout_.regions)}, {"fresh", addresses == Addresses::fresh}});
}

void Trial::fill(uint64_t seed) {
  for (size_t i = 0; i < tensors_.size(); ++i) refill(i, seed);
}

const Content& Trial::content(size_t i, Poison poison) const {
  return content_[i].over.at(shows_poison(tensors_[i]) ? static_cast<size_t>(poison) : 0);
}

int Trial::content_number(size_t i, Poison poison) const {
  return static_cast<int>(2 * i + (shows_poison(tensors_[i]) ? static_cast<size_t>(poison) : 0));
}

void Trial::refill(size_t i, uint64_t seed) {
  const TensorSpec& tensor = tensors_[i];
  if (tensor.role == Role::output) return;
  content_[i].is_kept = false;
  std::vector<Content>& over = content_[i].over;
  while (over.size() < (shows_poison(tensor) ? 2 : 1)) over.push_back(laboratory_->hold(layout_.regions[i].bytes));
  for (size_t k = 0; k < over.size(); ++k) {
    if (shows_poison(tensor)) laboratory_->poison(tensor, static_cast<Poison>(k), over[k]);
    // Content that the contract says is not read stays poison.
    if (tensor.is_read) laboratory_->fill(tensor, seed, over[k]);
  }
}

void Trial::reverse(size_t i, int axis) {
  content_[i].is_kept = false;
  for (Content& content : content_[i].over) laboratory_->reverse(tensors_[i], axis, content);
}

void Trial::put_among_zeros(size_t i, const TensorSpec& base_spec, const Content& base) {
  content_[i].is_kept = false;
  for (Content& content : content_[i].over) laboratory_->put_among_zeros(base_spec, base, tensors_[i], content);
}

void Trial::set_nan(size_t i, const Slice& slice) {
  content_[i].is_kept = false;
  for (Content& content : content_[i].over) laboratory_->set_nan(tensors_[i], slice, content);
}

void Trial::scale(size_t i, int power) {
  content_[i].is_kept = false;
  for (Content& content : content_[i].over) laboratory_->scale(tensors_[i], power, content);
}

std::vector<const Content*> Trial::inputs() const {
  std::vector<const Content*> all;
  for (size_t i = 0; i < tensors_.size(); ++i) {
    all.push_back(tensors_[i].role == Role::output ? nullptr : &content(i, Poison::first));
  }
  return all;
}

std::vector<Stretch> Trial::slack(Poison poison) const {
  std::vector<Stretch> stretches;
  for (size_t i = 0; i < layout_.regions.size(); ++i) {
    const Region& r = layout_.regions[i];
    const auto period = poison_period(spec(i).dtype, poison, r.first);
    stretches.push_back({&r, 0, r.first, period});
    stretches.push_back({&r, r.first + r.bytes, r.length, period});
  }
  return stretches;
}

Stretch Trial::buffer(size_t i, Poison poison) const {
  const Region& r = layout_.regions[i];
  Stretch all{&r, r.first, r.first + r.bytes};
  if (i < tensors_.size() && tensors_[i].role != Role::output) {
    all.kept = content_number(i, poison);
  } else if (i < tensors_.size() || !workspace_.zeroed) {
    all.period = poison_period(spec(i).dtype, poison, r.first);
  }
  return all;
}

void Trial::arm(Poison poison, Before before) {
  for (size_t i = 0; i < tensors_.size(); ++i) {
    if (tensors_[i].role == Role::output || content_[i].is_kept) continue;
    for (const Poison either : {Poison::first, Poison::second}) {
      memory_->keep(content_number(i, either), layout_.regions[i], content(i, either).bytes());
      if (!shows_poison(tensors_[i])) break;
    }
    content_[i].is_kept = true;
    content_[i].in_place = kNothing;
  }
  std::vector<Stretch> stretches = slack(poison);
  for (size_t i = 0; i < layout_.regions.size(); ++i) {
    const bool is_there = i < tensors_.size() && tensors_[i].role == Role::input &&
                          std::exchange(content_[i].in_place, kNothing) == content_number(i, poison);
    const bool is_left = before == Before::last_answer && !layout_.regions[i].filled;
    if (!is_there && !is_left) stretches.push_back(buffer(i, poison));
  }
  memory_->set(stretches);
}

Outputs Trial::copy_outputs() {
  Outputs copies;
  for (const size_t i : outputs()) {
    const Region& r = layout_.regions[i];
    memory_->read(r, r.first, copies.emplace_back(laboratory_->hold(r.bytes)).bytes());
  }
  return copies;
}

// The content of each region's buffer where something may have been written, null elsewhere.
std::vector<const Content*> Trial::written(const Outputs& outputs, const Outputs& changed_inputs) const {
  std::vector<const Content*> spans(layout_.regions.size());
  auto output = outputs.begin();
  for (size_t i = 0; i < tensors_.size(); ++i) {
    if (tensors_[i].role != Role::input) spans[i] = &*output++;
    if (changed_inputs[i].size() > 0) spans[i] = &changed_inputs[i];
  }
  return spans;
}

void Trial::look_for_strays(Poison poison, const Outputs& outputs) {
  std::vector<Stretch> untouched = slack(poison);
  std::vector<size_t> inputs;
  for (size_t i = 0; i < tensors_.size(); ++i) {
    if (tensors_[i].role != Role::input) continue;
    inputs.push_back(i);
    untouched.push_back(buffer(i, poison));
  }
  const std::vector<Mismatch> found = memory_->compare(untouched);
  Outputs changed(tensors_.size());
  for (size_t k = 0; k < inputs.size(); ++k) {
    const size_t i = inputs[k];
    if (found[2 * layout_.regions.size() + k].count == 0) {
      content_[i].in_place = content_number(i, poison);
      continue;
    }
    changed[i] = laboratory_->hold(layout_.regions[i].bytes);
    memory_->read(layout_.regions[i], layout_.regions[i].first, changed[i].bytes());
    if (!strays_.inputs.empty()) continue;
    strays_.inputs = describe(spec(i), laboratory_->difference(spec(i), content(i, poison), changed[i]));
  }
  const auto spans = written(outputs, changed);
  for (size_t i = 0; i < layout_.regions.size() && strays_.guards.empty(); ++i) {
    const auto first = static_cast<int64_t>(layout_.regions[i].first);
    GuardReport report;
    report.add(found[2 * i].count, static_cast<int64_t>(found[2 * i].first) - first, GuardReport::Where::before);
    if (spans[i] != nullptr && spec(i).span_elements() != spec(i).elements()) {
      const GuardReport inside = laboratory_->padding(spec(i), *spans[i], poison);
      report.add(inside.stray, inside.first, inside.where);
    }
    report.add(found[2 * i + 1].count, static_cast<int64_t>(found[2 * i + 1].first) - first, GuardReport::Where::after);
    strays_.guards = describe(spec(i), report);
  }
}

std::string Trial::touched(Poison poison) {
  std::vector<Stretch> stretches;
  for (size_t i = 0; i < layout_.regions.size(); ++i) stretches.push_back(buffer(i, poison));
  const std::vector<Mismatch> found = memory_->compare(stretches);
  for (size_t i = 0; i < found.size(); ++i) {
    if (found[i].count > 0) return spec(i).name;
  }
  return {};
}

Outputs Trial::launch(Poison poison, Manner manner, Before before) {
  arm(poison, before);
  const json answer = subject_->ask({{"do", "launch"}, {"slot", setting_.slot}, {"manner", name_of(manner)}});
  if (const auto failed = answer.find("failed"); failed != answer.end()) {
    throw LaunchFailed("launch: " + failed->get<std::string>());
  }
  require_nothing_left("launch", answer);
  cost_ = {answer.value("others_us", std::numeric_limits<double>::infinity()), answer.at("counted"),
           answer.at("allocations"), answer.at("outstanding"), answer.at("device_growth")};
  others_computed_ = others_computed_ || cost_.others_us > 0;
  if (manner == Manner::beside_callers) cost_.callers_differ = answer.at("callers_differ");
  if (manner == Manner::replayed) cost_.graph = answer.at("graph");
  if (manner == Manner::blocked) {
    cost_.waited = answer.at("waited");
    if (!cost_.waited) cost_.touched = touched(poison);
    subject_->ask({{"do", "finish"}});
  }
  Outputs copies = copy_outputs();
  look_for_strays(poison, copies);
  return copies;
}

json Trial::changed_by_launch() const {
  json ranges = json::array();
  for (size_t i = 0; i < layout_.regions.size(); ++i) {
    const bool is_changed = i < tensors_.size() ? tensors_[i].role != Role::input : workspace_.zeroed;
    const Region& r = layout_.regions[i];
    if (is_changed && r.bytes > 0) ranges.push_back({i, r.first - r.base, r.bytes});
  }
  return ranges;
}

json Trial::time(json message, Outputs& left) {
  arm(Poison::first, Before::poison);
  message["do"] = "sample";
  message["slot"] = setting_.slot;
  json ranges = json::array();
  for (size_t i = 0; i < tensors_.size(); ++i) {
    const Region& r = layout_.regions[i];
    ranges.push_back({i, r.first - r.base, r.bytes, static_cast<int>(tensors_[i].role)});
  }
  message["workspace"] = workspace_.bytes;
  message["ranges"] = ranges;
  message["armed"] = changed_by_launch();
  const double budget = message.at("seconds");
  json answer = subject_->ask(message, std::chrono::duration<double>(60 + 10 * budget));
  require_nothing_left("a launch that is timed", answer);
  left = copy_outputs();
  look_for_strays(Poison::first, left);
  return answer;
}

}  // namespace assay
