#include "gate/fuzz.h"

#include <xxhash.h>

#include <algorithm>
#include <charconv>

#include "core/error.h"
#include "gate/nearest.h"
#include "record/verdict.h"

namespace assay {
namespace {

constexpr int kInARow = 8;  // cases of a kernel: another module costs the judge two fresh workers
constexpr int kBestOf = 4;
// Of finding a case that the kernel claims and that was not drawn before: any, and better ones once there is one.
constexpr int kTriesForAny = 4000, kTriesForBetter = 100;
constexpr uint64_t kUnclaimedOneIn = 16;

bool claims(const KernelInfo& kernel, const Case& c) {
  try {
    return unclaimed(kernel.contract, c).empty();
  } catch (const UsageError&) {
    return true;  // a domain that nobody can read is for the check `contract` to tell
  }
}

}  // namespace

struct Fuzzer::OfOp {
  std::vector<FieldSpec> fields;
  std::vector<Case> listed;
  std::unique_ptr<CaseDraw> draws;
};

struct Fuzzer::OfKernel {
  size_t index;  // in the plan
  const KernelInfo* info;
  const OfOp* op;
  std::vector<Filter> filters;  // that select it; none: all of its op's domain
  Draw draw;
  Coverage coverage{};
  std::map<std::string, std::vector<Case>> openers{};  // cases that opened a key, by decision
  std::set<std::string> drawn{};
  std::optional<Case> asked{};  // and not answered
  bool is_done = false;         // has no case left, or cannot run here
};

FuzzBudget parse_fuzz_budget(const std::string& text) {
  FuzzBudget budget;
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string unit(end, text.data() + text.size());
  const bool is_whole = number == static_cast<double>(static_cast<int64_t>(std::min(number, 1e9)));
  if (error == std::errc() && number > 0 && number <= 1e9) {
    if (unit == "s") budget.seconds = number;
    if (unit == "m") budget.seconds = 60 * number;
    if (unit == "h") budget.seconds = 3600 * number;
    if (unit == "cases" && is_whole) budget.cases = static_cast<int64_t>(number);
  }
  if (budget.seconds == 0 && budget.cases == 0) {
    throw UsageError("--fuzz: '" + text +
                     "' is neither a time nor a number of cases; give one such as 60s, 10m, 2h or " + "200cases");
  }
  return budget;
}

std::string fuzz_text(const FuzzSummary& s) {
  const auto count = [](int64_t n) { return std::to_string(n); };
  return "fuzz, seed " + std::to_string(s.seed) + ": " + count(s.drawn) + " cases drawn, " + count(s.judged) +
         " judged, " + count(s.refused) + " refused, " + count(s.failed) + " failed; " + count(s.keys) +
         " keys of coverage (kernel, decision, two boundary classes), " + count(s.keys_beyond_listed) +
         " of them of two classes that no listed case has together";
}

Fuzzer::Fuzzer(const OpRegistry& ops, const Plan& plan, const std::string& device,
               const std::vector<std::string>& filters, uint64_t seed) {
  summary_.seed = seed;
  std::vector<Filter> given;
  for (const std::string& text : filters) {
    given.emplace_back(text, ops, plan.kernels);
    draws_[text] = 0;
    if (given.back().exact()) {
      throw UsageError("filter '" + text +
                       "': is one case, so that nothing is left to draw; leave --fuzz out, or fields");
    }
  }
  for (size_t i = 0; i < plan.kernels.size(); ++i) {
    const KernelInfo& info = plan.kernels[i];
    std::vector<Filter> of_kernel;
    for (const Filter& filter : given) {
      if (filter.matches_kernel(info)) of_kernel.push_back(filter);
    }
    if (info.target != device || (of_kernel.empty() && !given.empty())) continue;
    const auto [entry, is_new] = ops_.try_emplace(info.op);
    if (is_new) {
      const Op& op = ops.named(info.op);
      entry->second = std::make_unique<OfOp>(OfOp{op.all_fields(), op.cases(Tier::nightly), nullptr});
      entry->second->draws = std::make_unique<CaseDraw>(op, entry->second->listed);
    }
    const std::string name = info.op + "/" + info.name;
    OfKernel kernel{.index = i,
                    .info = &info,
                    .op = entry->second.get(),
                    .filters = std::move(of_kernel),
                    .draw = Draw(XXH3_64bits_withSeed(name.data(), name.size(), seed))};
    for (const Case& c : kernel.op->listed) {
      kernel.drawn.insert(c.id());  // it has its own place: in the tiers
      if (claims(info, c)) kernel.coverage.add_listed(boundary_classes(kernel.op->fields, c));
    }
    kernels_.push_back(std::make_unique<OfKernel>(std::move(kernel)));
  }
  if (kernels_.empty()) throw UsageError("--fuzz: no kernel of target " + device + " to draw cases for");
}

Fuzzer::~Fuzzer() = default;

std::optional<Case> Fuzzer::draw_once(OfKernel& kernel, const Filter* filter, bool fresh) {
  Draw& draw = kernel.draw;
  FixedFields fixed;
  for (const auto& field : filter == nullptr ? FixedFields{} : filter->fields()) {
    if (!is_glob(field.second)) fixed.push_back(field);
  }
  if (fresh) return kernel.op->draws->fresh(draw, fixed);
  auto opener = kernel.openers.begin();
  std::advance(opener, draw.below(kernel.openers.size()));
  return kernel.op->draws->changed(draw, draw.one_of(opener->second), fixed);
}

std::optional<Case> Fuzzer::draw(OfKernel& kernel) {
  const uint64_t way = kernel.draw.below(3);
  const int wanted = way == 0 ? 1 : kBestOf;
  bool fresh = way < 2 || kernel.openers.empty();
  const bool may_be_unclaimed = kernel.draw.one_in(kUnclaimedOneIn);
  std::optional<Case> best;
  int64_t most = -1;
  for (int tries = 0, found = 0; tries < (found == 0 ? kTriesForAny : kTriesForBetter) && found < wanted; ++tries) {
    if (tries == kTriesForBetter) fresh = true;  // what is changed may have no neighbour left
    const Filter* filter = kernel.filters.empty() ? nullptr : &kernel.draw.one_of(kernel.filters);
    std::optional<Case> c = draw_once(kernel, filter, fresh);
    if (!c) {
      if (fresh) break;  // the filter leaves no case that the op has
      fresh = true;
      continue;
    }
    if (kernel.drawn.contains(c->id()) || !(may_be_unclaimed || claims(*kernel.info, *c))) continue;
    if (filter != nullptr && !filter->matches(*kernel.info, *c)) continue;
    ++found;
    const int64_t unseen = kernel.coverage.unseen(boundary_classes(kernel.op->fields, *c));
    if (unseen <= most) continue;
    most = unseen;
    best = std::move(c);
  }
  return best;
}

void Fuzzer::end_turn() {
  turn_ = (turn_ + 1) % kernels_.size();
  in_a_row_ = 0;
}

std::optional<PlannedCase> Fuzzer::next() {
  for (size_t done = 0; done < kernels_.size();) {
    OfKernel& kernel = *kernels_[turn_];
    std::optional<Case> c;
    if (!kernel.is_done) c = draw(kernel);
    if (!c) {
      kernel.is_done = true;
      ++done;
      end_turn();
      continue;
    }
    kernel.drawn.insert(c->id());
    kernel.asked = c;
    ++summary_.drawn;
    for (const Filter& filter : kernel.filters) {
      if (filter.matches(*kernel.info, *c)) ++draws_[filter.text()];
    }
    if (++in_a_row_ == kInARow) end_turn();
    return PlannedCase{kernel.index, *c, c->kernel_id(kernel.info->name), false};
  }
  return std::nullopt;
}

void Fuzzer::learn(const Record& record) {
  const auto is_asked = [&](const auto& kernel) {
    return kernel->asked && kernel->asked->kernel_id(kernel->info->name) == record.kernel_id;
  };
  const auto found = std::find_if(kernels_.begin(), kernels_.end(), is_asked);
  if (found == kernels_.end()) throw Error("fuzz: an answer to no question: " + record.kernel_id);
  OfKernel& kernel = **found;
  const Case c = *std::exchange(kernel.asked, std::nullopt);
  ++(record.verdict == Verdict::unsupported ? summary_.refused : summary_.judged);
  if (exit_code_of(record.verdict) == 1) ++summary_.failed;
  if (record.reason.starts_with(kNotAvailable)) {
    kernel.is_done = true;  // whatever the case
    return;
  }
  const std::string decision = decision_of(record);
  if (kernel.coverage.add(decision, boundary_classes(kernel.op->fields, c)) == 0) return;
  if (record.verdict != Verdict::unsupported) kernel.openers[decision].push_back(c);
}

std::vector<std::string> Fuzzer::not_drawn() const {
  constexpr const char* kRemedy =
      "; give more time, or a filter that leaves cases which a kernel of this device claims";
  std::vector<std::string> lines;
  for (const auto& [filter, draws] : draws_) {
    if (draws == 0) lines.push_back("filter '" + filter + "': nothing was drawn of it" + kRemedy);
  }
  if (lines.empty() && summary_.drawn == 0) lines.push_back(std::string("--fuzz: nothing was drawn") + kRemedy);
  return lines;
}

FuzzSummary Fuzzer::summary() const {
  FuzzSummary all = summary_;
  for (const auto& kernel : kernels_) {
    all.keys += kernel->coverage.keys();
    all.keys_beyond_listed += kernel->coverage.keys_beyond_listed();
  }
  return all;
}

}  // namespace assay
