#include "gate/coverage.h"

#include <algorithm>
#include <bit>

#include "gate/case_draw.h"

namespace assay {
namespace {

constexpr int kBitsOfANumber = 20;  // of a class, and of a decision

bool is_power_of_two(int64_t n) { return n > 0 && std::has_single_bit(static_cast<uint64_t>(n)); }

std::string size_class(uint64_t n) {
  uint64_t most = 16;
  while (n > most && most < uint64_t{1} << 60) most *= 16;
  return "~" + std::to_string(most);
}

std::string length_class(int64_t n) {
  if (n <= 1) return std::to_string(n);
  if (is_power_of_two(n)) return "edge";
  if (is_power_of_two(n - 1)) return "edge+1";
  if (is_power_of_two(n + 1)) return "edge-1";
  if (n % 16 == 0) return "tile";
  return is_prime(n) ? "prime" : n % 2 == 1 ? "odd" : "even";
}

std::string integer_class(const FieldSpec& field, int64_t n) {
  if (n == 0) return "0";
  if (field.least < 0 && (n == field.least || n == -field.least - 1)) return n < 0 ? "lowest" : "highest";
  if (n < 0) return "negative";
  return n % 16 == 0 ? "tile" : n % 2 == 1 ? "odd" : "even";
}

std::string real_class(double x) { return x == 0 ? "0" : x == 1 ? "1" : x < 0 ? "negative" : "other"; }

}  // namespace

std::vector<std::string> boundary_classes(const std::vector<FieldSpec>& fields, const Case& c) {
  std::vector<std::string> classes;
  std::vector<std::pair<int64_t, std::string>> lengths;
  for (const FieldSpec& field : fields) {
    const FieldValue& value = c.at(field.name);
    const auto add = [&](const std::string& name) { classes.push_back(field.name + ":" + name); };
    if (field.name == "seed" || field.name == "seeds" || field.name == "support") continue;
    if (is_length(field)) {
      lengths.emplace_back(value.integer, field.name);
      add(length_class(value.integer));
      add(size_class(static_cast<uint64_t>(value.integer)));
    } else if (value.kind == FieldKind::integer) {
      add(integer_class(field, value.integer));
    } else {
      add(value.kind == FieldKind::real ? real_class(value.real) : value.text);
    }
  }
  std::sort(lengths.rbegin(), lengths.rend());
  if (!lengths.empty() && lengths.back().first == 0) {
    classes.emplace_back("empty");
  } else if (lengths.size() > 1 && lengths[0].first >= 32 * lengths[1].first) {
    classes.push_back("long:" + lengths[0].second);
  }
  return classes;
}

std::string decision_of(const Record& record) {
  if (record.verdict == Verdict::unsupported) return "refused";
  std::string decision = "workspace " + size_class(record.workspace_bytes);
  for (const auto& [key, value] : record.selection) {
    const bool is_path = key.rfind("candidate.", 0) != 0 && key != "reason" && key != "fallback_reason" &&
                         key != "library" && key != "workspace";
    if (is_path) decision += "; " + key + " " + value;
  }
  return decision;
}

std::vector<uint64_t> Coverage::pairs_of(const std::vector<std::string>& classes) {
  std::vector<uint64_t> numbers, pairs;
  for (const std::string& one : classes) numbers.push_back(classes_.try_emplace(one, classes_.size()).first->second);
  std::sort(numbers.begin(), numbers.end());
  for (size_t i = 0; i < numbers.size(); ++i) {
    for (size_t j = i + 1; j < numbers.size(); ++j) pairs.push_back(numbers[i] << kBitsOfANumber | numbers[j]);
  }
  return pairs;
}

int64_t Coverage::unseen(const std::vector<std::string>& classes) {
  const std::vector<uint64_t> pairs = pairs_of(classes);
  return std::count_if(pairs.begin(), pairs.end(), [&](uint64_t pair) { return !seen_.contains(pair); });
}

void Coverage::add_listed(const std::vector<std::string>& classes) {
  for (const uint64_t pair : pairs_of(classes)) {
    seen_.insert(pair);
    listed_.insert(pair);
  }
}

int64_t Coverage::add(const std::string& decision, const std::vector<std::string>& classes) {
  const uint64_t number = decisions_.try_emplace(decision, decisions_.size()).first->second;
  int64_t added = 0;
  for (const uint64_t pair : pairs_of(classes)) {
    seen_.insert(pair);
    if (!keys_.insert(number << 2 * kBitsOfANumber | pair).second) continue;
    ++added;
    if (!listed_.contains(pair)) ++beyond_;
  }
  return added;
}

}  // namespace assay
