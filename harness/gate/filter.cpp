#include "gate/filter.h"

#include <algorithm>
#include <set>

#include "core/error.h"
#include "fill/fill.h"
#include "gate/nearest.h"

namespace assay {
namespace {

std::vector<const Op*> ops_matching(const std::string& text, const std::string& glob, const OpRegistry& ops) {
  std::vector<const Op*> found;
  std::vector<std::string> names;
  for (const auto& op : ops.all()) {
    names.emplace_back(op->name());
    if (glob_matches(glob, op->name())) found.push_back(op.get());
  }
  if (found.empty()) throw UsageError("filter '" + text + "': no op '" + glob + "'" + suggestion(glob, names));
  return found;
}

void require_kernel(const std::string& text, const std::string& op_glob, const std::string& glob,
                    const std::vector<KernelInfo>& kernels) {
  std::set<std::string> names;
  for (const KernelInfo& kernel : kernels) {
    if (!glob_matches(op_glob, kernel.op)) continue;
    if (glob_matches(glob, kernel.name)) return;
    names.insert(kernel.name);
  }
  if (names.empty()) throw UsageError("filter '" + text + "': no loaded module has a kernel for op '" + op_glob + "'");
  throw UsageError("filter '" + text + "': op '" + op_glob + "' has no kernel '" + glob + "'" +
                   suggestion(glob, {names.begin(), names.end()}));
}

// The value as cases print it, so that m=064 means m=64; throws for what the field cannot have.
std::string canonical_value(const Op& op, const FieldSpec& spec, const std::string& value) {
  if (is_glob(value)) return value;
  return Case(std::string(op.name()), {spec}, {{spec.name, value}}).at(spec.name).text;
}

bool gives_every_field(const Op& op, const std::vector<std::pair<std::string, std::string>>& fields) {
  for (const FieldSpec& spec : op.all_fields()) {
    const auto given = std::find_if(fields.begin(), fields.end(), [&](const auto& f) { return f.first == spec.name; });
    if (given == fields.end() ? !spec.fallback.has_value() : is_glob(given->second)) return false;
  }
  return !fields.empty();
}

// What the op would throw of the whole case, and a fill that no generator makes: the judge would say no sooner.
void require_fillable(const Op& op, const Case& c) {
  for (const TensorSpec& tensor : op.tensors(c)) {
    const std::vector<std::string>& known = generator_names();
    const std::string& fill = tensor.fill.generator;
    if (std::ranges::find(known, fill) != known.end()) continue;
    throw UsageError("case of " + c.op() + ": field 'fill' = '" + c.word("fill") + "': no generator '" + fill + "'" +
                     suggestion(fill, known));
  }
}

}  // namespace

Filter::Filter(const std::string& text, const OpRegistry& ops, const std::vector<KernelInfo>& kernels) : text_(text) {
  const ParsedId parsed = parse_id(text);
  if (text.ends_with(':')) {
    throw UsageError("filter '" + text + "': names no field; leave the colon out to mean every case");
  }
  op_ = parsed.op;
  kernel_ = parsed.kernel.empty() ? "*" : parsed.kernel;
  const std::vector<const Op*> candidates = ops_matching(text, op_, ops);
  require_kernel(text, op_, kernel_, kernels);
  for (const auto& [name, value] : parsed.fields) {
    std::set<std::string> known;
    std::optional<std::string> canonical;
    std::string refused;  // by every op that has the field
    for (const Op* op : candidates) {
      for (const FieldSpec& spec : op->all_fields()) {
        known.insert(spec.name);
        if (spec.name != name || canonical) continue;
        try {
          canonical = canonical_value(*op, spec, value);
        } catch (const UsageError& e) {
          refused = e.what();
        }
      }
    }
    if (!canonical) {
      throw UsageError("filter '" + text + "': " +
                       (!refused.empty() ? refused
                                         : "op '" + op_ + "' has no field '" + name + "'" +
                                               suggestion(name, {known.begin(), known.end()})));
    }
    for (const auto& [earlier, unused] : fields_) {
      if (earlier == name) throw UsageError("filter '" + text + "': field '" + name + "' is given twice");
    }
    fields_.emplace_back(name, *canonical);
  }
  if (candidates.size() != 1 || !gives_every_field(*candidates[0], fields_)) return;
  exact_ = candidates[0]->make(fields_);
  require_fillable(*candidates[0], *exact_);
}

bool Filter::matches_kernel(const KernelInfo& kernel) const {
  return glob_matches(op_, kernel.op) && glob_matches(kernel_, kernel.name);
}

bool Filter::matches(const KernelInfo& kernel, const Case& c) const {
  if (!matches_kernel(kernel)) return false;
  if (exact_) return *exact_ == c;
  return std::all_of(fields_.begin(), fields_.end(), [&](const auto& field) {
    return c.has(field.first) && glob_matches(field.second, c.word(field.first));
  });
}

std::vector<Filter> filters_of(const std::vector<std::string>& texts, const OpRegistry& ops,
                               const std::vector<KernelInfo>& kernels) {
  std::vector<Filter> filters;
  for (const std::string& text : texts) filters.emplace_back(text, ops, kernels);
  return filters;
}

}  // namespace assay
