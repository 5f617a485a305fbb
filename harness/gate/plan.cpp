#include "gate/plan.h"

#include <xxhash.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <set>

#include "core/error.h"
#include "device/device.h"
#include "gate/filter.h"
#include "gate/nearest.h"

namespace assay {
namespace {

struct Candidate {
  Case c;
  bool timed = false;
  bool spared = false;  // by the policy: counted, not judged
};

void require_distinct(const std::vector<KernelInfo>& kernels, const OpRegistry& ops) {
  std::map<std::string, std::string> module_of;
  for (const KernelInfo& kernel : kernels) {
    ops.named(kernel.op);
    const std::string name = kernel.op + "/" + kernel.name;
    const auto [earlier, is_new] = module_of.emplace(name, kernel.module.string());
    if (!is_new) {
      throw UsageError("kernel " + name + " comes from " + earlier->second + " and from " + kernel.module.string() +
                       "; rename one");
    }
  }
}

void add(std::vector<Candidate>& candidates, const Case& c, bool timed) {
  for (Candidate& earlier : candidates) {
    if (earlier.c == c) {
      earlier.timed = earlier.timed || timed;
      return;
    }
  }
  candidates.push_back({c, timed});
}

Case reseeded(const Case& c, int64_t by) {
  return by == 0 ? c : c.with({{"seed", print_number(c.integer("seed") + by)}});
}

// What an op's kernels are asked before filters narrow it down: the cases of `tier`, and what the request's times.
std::vector<Candidate> candidates_of(const Op& op, const std::vector<BenchCase>& bench, const PlanRequest& request,
                                     Tier tier) {
  std::vector<Candidate> candidates;
  if (request.timing != Timing::only) {
    for (const Case& c : op.cases(tier)) candidates.push_back({c, false});
    if (request.device != name_of(Device::cpu)) {
      for (const Case& c : op.device_cases(tier)) add(candidates, c, false);
    }
    // Of the run's tier: a kernel that the policy judges by a smaller one is asked what was found all the same.
    for (const Case& c : request.stored) {
      if (request.tier >= Tier::ci && c.op() == op.name()) add(candidates, c, false);
    }
  }
  if (request.timing == Timing::none) return candidates;
  for (const BenchCase& one : bench) {
    const bool in_tier = std::find(one.tiers.begin(), one.tiers.end(), request.tier) != one.tiers.end();
    if (in_tier && one.c.op() == op.name()) add(candidates, one.c, true);
  }
  return candidates;
}

const Lighter* lighter_for(const std::string& kernel, const PlanRequest& request) {
  const auto names = [&](const Lighter& one) { return one.tier == request.tier && glob_matches(one.kernel, kernel); };
  const auto found = std::find_if(request.lighter.begin(), request.lighter.end(), names);
  return found == request.lighter.end() ? nullptr : &*found;
}

// Of the tier's cases those that are not among the candidates.
void add_spared(std::vector<Candidate>& candidates, const std::vector<Candidate>& of_tier) {
  const size_t judged = candidates.size();
  for (const Candidate& one : of_tier) {
    const auto end = candidates.begin() + static_cast<std::ptrdiff_t>(judged);
    if (std::none_of(candidates.begin(), end, [&](const Candidate& other) { return other.c == one.c; })) {
      candidates.push_back({one.c, one.timed, true});
    }
  }
}

// The judge's copies and what an oracle says of each element take several times this.
bool is_large(const Op& op, const Case& c) {
  constexpr double kLarge = 256 << 20;
  double bytes = 0;
  try {
    for (const TensorSpec& tensor : op.tensors(c)) {
      bytes += static_cast<double>(tensor.span_elements()) * static_cast<double>(size_of(tensor.dtype));
    }
  } catch (const UsageError&) {
    return false;  // the judge says why, in its record
  }
  return bytes > kLarge;
}

}  // namespace

bool Shard::holds(const std::string& kernel_id) const {
  return XXH3_64bits(kernel_id.data(), kernel_id.size()) % static_cast<uint64_t>(count) ==
         static_cast<uint64_t>(index - 1);
}

Shard parse_shard(const std::string& text) {
  Shard shard;
  const char* const end = text.data() + text.size();
  const auto first = std::from_chars(text.data(), end, shard.index);
  const bool slash = first.ec == std::errc() && first.ptr != end && *first.ptr == '/';
  const auto second = std::from_chars(slash ? first.ptr + 1 : end, end, shard.count);
  if (!slash || second.ec != std::errc() || second.ptr != end || shard.index < 1 || shard.index > shard.count) {
    throw UsageError("--shard: '" + text + "' is not i/n with 1 <= i <= n, such as 2/4");
  }
  return shard;
}

Plan plan_without_cases(const OpRegistry& ops, std::vector<KernelInfo> kernels, const PlanRequest& request) {
  require_distinct(kernels, ops);
  std::stable_sort(kernels.begin(), kernels.end(), [](const auto& a, const auto& b) { return a.module < b.module; });
  const std::vector<Filter> filters = filters_of(request.filters, ops, kernels);
  Plan plan{std::move(kernels), {}, {}};
  for (size_t k = 0; k < plan.kernels.size(); ++k) {
    const KernelInfo& kernel = plan.kernels[k];
    const auto selects = [&](const Filter& filter) { return filter.matches_kernel(kernel); };
    const bool selected = filters.empty() || std::any_of(filters.begin(), filters.end(), selects);
    if (selected && kernel.target != request.device) plan.other_device.push_back(k);
  }
  return plan;
}

Plan make_plan(const OpRegistry& ops, std::vector<KernelInfo> kernels, const std::vector<BenchCase>& bench,
               const PlanRequest& request) {
  Plan plan = plan_without_cases(ops, std::move(kernels), request);
  const std::vector<Filter> filters = filters_of(request.filters, ops, plan.kernels);
  std::vector<bool> used(filters.size(), false), spared(filters.size(), false);
  std::map<std::pair<std::string, Tier>, std::vector<Candidate>> by_op;
  const auto asked = [&](const std::string& op, Tier tier) -> const std::vector<Candidate>& {
    const auto [found, is_new] = by_op.try_emplace({op, tier});
    if (is_new) found->second = candidates_of(ops.named(op), bench, request, tier);
    return found->second;
  };
  for (size_t k = 0; k < plan.kernels.size(); ++k) {
    const KernelInfo& kernel = plan.kernels[k];
    if (kernel.target != request.device) continue;
    const std::string name = kernel.op + "/" + kernel.name;
    const Lighter* lighter = lighter_for(name, request);
    std::vector<Candidate> candidates = asked(kernel.op, lighter == nullptr ? request.tier : lighter->cases);
    for (const Filter& filter : filters) {
      if (filter.exact() && filter.matches_kernel(kernel)) {
        add(candidates, *filter.exact(), request.timing == Timing::only);
      }
    }
    if (lighter != nullptr) add_spared(candidates, asked(kernel.op, request.tier));
    int64_t left_out = 0;
    for (const Candidate& candidate : candidates) {
      bool selected = filters.empty();
      for (size_t f = 0; f < filters.size(); ++f) {
        if (!filters[f].matches(kernel, candidate.c)) continue;
        selected = (candidate.spared ? spared : used)[f] = true;
      }
      const Case c = reseeded(candidate.c, request.reseed);
      const std::string id = c.kernel_id(kernel.name);
      if (!selected || !request.shard.holds(id)) continue;
      if (candidate.spared) {
        ++left_out;
      } else {
        plan.cases.push_back({k, c, id, candidate.timed, is_large(ops.named(kernel.op), c)});
      }
    }
    if (left_out > 0) plan.left_out.push_back({name, left_out, std::string(name_of(lighter->cases)), lighter->reason});
  }
  for (size_t f = 0; f < filters.size(); ++f) {
    if (used[f]) continue;
    std::vector<size_t> elsewhere = plan.other_device;
    std::erase_if(elsewhere, [&](size_t k) { return !filters[f].matches_kernel(plan.kernels[k]); });
    if (!elsewhere.empty()) {
      throw UsageError("filter '" + filters[f].text() + "': " +
                       other_device_text({plan.kernels, {}, elsewhere}, request.device) + ", and it selects no other");
    }
    throw UsageError("filter '" + filters[f].text() + "' matches no case of tier " +
                     std::string(name_of(request.tier)) +
                     (spared[f] ? " that the policy leaves (policy.toml, lighter); give the case's whole id to judge it"
                                : "; 'assay list --cases' shows what there is"));
  }
  if (plan.cases.empty()) {
    throw UsageError("nothing is planned: " + std::to_string(plan.kernels.size()) + " kernels, tier " +
                     std::string(name_of(request.tier)) + ", shard " + std::to_string(request.shard.index) + "/" +
                     std::to_string(request.shard.count) +
                     (plan.other_device.empty() ? "" : "; " + other_device_text(plan, request.device)));
  }
  return plan;
}

std::vector<std::string> left_out_lines(const std::vector<LeftOut>& left_out) {
  std::vector<std::string> lines;
  for (const LeftOut& one : left_out) {
    lines.push_back(std::to_string(one.cases) + (one.cases == 1 ? " case of " : " cases of ") + one.kernel +
                    " left out, judged by the cases of tier " + one.judged_by + ": " + one.reason);
  }
  return lines;
}

std::string other_device_text(const Plan& plan, const std::string& device) {
  std::string names;
  for (const size_t k : plan.other_device) {
    const KernelInfo& kernel = plan.kernels[k];
    names += (names.empty() ? "" : ", ") + kernel.op + "/" + kernel.name + " (" + kernel.target + ")";
  }
  const size_t count = plan.other_device.size();
  if (count == 0) return "";
  return std::to_string(count) + (count == 1 ? " kernel" : " kernels") + " not run, target other than " + device +
         ": " + names;
}

std::vector<Case> every_case(const OpRegistry& ops, const std::vector<BenchCase>& bench,
                             const std::vector<Case>& stored) {
  std::vector<Case> cases;
  for (const auto& op : ops.all()) {
    for (const Tier tier : kTiers) {
      for (Case& c : op->cases(tier)) cases.push_back(std::move(c));
    }
  }
  for (const BenchCase& one : bench) cases.push_back(one.c);
  cases.insert(cases.end(), stored.begin(), stored.end());
  return cases;
}

}  // namespace assay
