#include "check/fingerprint.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <optional>

#include "check/hash.h"
#include "check/sum_spine.h"
#include "check/sum_tree.h"

namespace assay {
namespace {

constexpr FactRow kFacts[] = {
    {"shape", "the summation tree of few terms, in words"},
    {"tree", "the same, node by node (check/sum_tree.h)"},
    {"shape_across", "where neighbouring sums are neighbours in memory"},
    {"tree_across", "the same, node by node"},
    {"long_sum", "how a sum of thousands of terms is put together"},
    {"split_k", "slices that are summed apart, their number going with no length"},
    {"unit", "terms added at once / fraction bits they are aligned to / fraction bits the sum keeps"},
    {"aligned_bits", "fraction bits below the largest of neighbours that are added"},
    {"kept_bits", "fraction bits that a running sum keeps"},
    {"rounding", "of a running sum"},
    {"partial_bits", "fraction bits that the sum of the first terms keeps until it meets the last"},
    {"stored_rounding", "from the accumulator to a narrower output"},
    {"input_bits", "fraction bits of an input that are multiplied or added"},
    {"fused_multiply", "whether a product is added unrounded"},
    {"subnormal_inputs", "kept or flushed"},
    {"subnormal_sums", "kept or flushed"},
    {"subnormal_outputs", "kept or flushed"},
    {"columns", "whether every column of a product is summed alike"},
    {"batch", "whether a row alone gives the bits it gives among others"},
    {"absorbed", "which small terms of a positive sum are swallowed by a large one"},
    {"ties", "how results half way between two numbers are rounded"},
    {"order", "hash of sums that other orders and roundings change"},
    {"values", "hash of the function's values at 65536 arguments"},
};

std::string hash_text(const void* data, size_t bytes) {
  Hasher hasher;
  hasher.add(data, bytes);
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(hasher.digest()));
  return text;
}
std::string hash_text(std::span<const int> numbers) { return hash_text(numbers.data(), numbers.size_bytes()); }

double power(int exponent) { return std::ldexp(1.0, exponent); }

// One probe with its answer.
struct Reading {
  const Probe* probe;
  const ProbeAnswer* answer;

  int64_t rows() const { return static_cast<int64_t>(answer->bytes.size() / size_of(answer->dtype)) / probe->columns; }
  // As summed, before the factor.
  double at(int64_t row, int64_t column = 0) const {
    return load(answer->dtype, answer->bytes.data(), row * probe->columns + column) / probe->factor;
  }
  DType input() const { return dtype_named(probe->c.word("dtype")).value(); }
};

class Reader {
 public:
  Reader(const ProbeSet& set, std::span<const ProbeAnswer> answers) {
    readings_.reserve(set.probes.size());  // known_ points into it
    for (size_t i = 0; i < set.probes.size(); ++i) {
      readings_.push_back({&set.probes[i], &answers[i]});
      if (answers[i].missing.empty()) {
        known_[set.probes[i].reveals] = &readings_.back();
      } else {
        missing_[set.probes[i].reveals] = answers[i].missing;
      }
    }
  }

  std::vector<Fact> read() {
    if (asked(Reveals::tree)) read_tree(Reveals::tree, "shape", "tree");
    if (asked(Reveals::steps)) read_steps();
    if (asked(Reveals::tree_across)) read_tree(Reveals::tree_across, "shape_across", "tree_across");
    if (asked(Reveals::spine)) read_spine();
    if (asked(Reveals::near)) read_bits();
    if (asked(Reveals::ends)) read_partials();
    if (asked(Reveals::input_bits)) read_input_bits();
    if (asked(Reveals::fused_multiply)) read_fused_multiply();
    read_subnormals();
    read_columns();
    if (asked(Reveals::order)) read_order();
    if (asked(Reveals::absorbed)) read_absorbed();
    if (asked(Reveals::ties)) read_ties();
    if (asked(Reveals::values)) {
      if (const Reading* r = need(Reveals::values, {"values"})) say("values", hash_of(*r));
    }
    return sorted();
  }

 private:
  bool asked(Reveals what) const { return known_.contains(what) || missing_.contains(what); }
  void say(std::string_view name, std::string value) { facts_.push_back({std::string(name), std::move(value)}); }
  void unknown(std::string_view name, std::string why) { facts_.push_back({std::string(name), "", std::move(why)}); }

  // Null, with `facts` told to be unknown, when the probe was not answered.
  const Reading* need(Reveals what, std::initializer_list<std::string_view> facts) {
    if (const auto found = known_.find(what); found != known_.end()) return found->second;
    for (const std::string_view fact : facts) unknown(fact, missing_.at(what));
    return nullptr;
  }

  static std::string hash_of(const Reading& r) { return hash_text(r.answer->bytes.data(), r.answer->bytes.size()); }

  // Units that survived; nothing for what is no number of units.
  static std::optional<int> count(const Reading& r, int64_t row, int64_t column = 0) {
    const double units = std::ldexp(r.at(row, column), -probe::unit_exponent(r.input()));
    if (!(units >= 0 && units <= 1e6) || units != std::floor(units)) return std::nullopt;
    return static_cast<int>(units);
  }

  void read_tree(Reveals what, const char* shape, const char* text) {
    const Reading* r = need(what, {shape, text});
    if (r == nullptr) return;
    const auto k = static_cast<int>(r->probe->terms);
    std::vector<int> sizes(static_cast<size_t>(k) * static_cast<size_t>(k));
    std::string problem;
    for (int row = 0; row < k * k; ++row) {
      const int i = row / k, j = row % k;
      const std::optional<int> survivors = count(*r, row);
      if (i == j && survivors != k && problem.empty()) problem = "the terms alone do not sum to their number";
      if (!survivors && problem.empty()) problem = "a sum is no number of units: the large terms left something";
      // Of those that are lost two are the large ones, which the others of the row stand beside.
      sizes[static_cast<size_t>(row)] = i == j ? 1 : k - survivors.value_or(-1);
    }
    for (int row = 0; row < k * k && problem.empty(); ++row) {
      const int turned = row % k * k + row / k;
      if (sizes[static_cast<size_t>(row)] != sizes[static_cast<size_t>(turned)]) {
        problem = "not every row is summed alike, or signs decide where terms meet";
      }
    }
    if (problem.empty()) {
      if (const std::optional<SumTree> tree = tree_of(sizes, k)) {
        say(shape, shape_of(*tree));
        say(text, text_of(*tree));
        if (what == Reveals::tree) step_ = step_of(*tree);
        return;
      }
      problem = "what was lost is that of no tree";
    }
    const std::string why = problem + " (hash " + hash_text(sizes) + ")";
    unknown(shape, why);
    unknown(text, why);
  }

  // Units lost before -M at the end of each stretch met +M at the first term; empty, with `problem` set, where outputs
  // are no counts.
  static std::vector<int> lost(const Reading& r, std::string& problem) {
    const bool on_diagonal = probe::in_both_factors(r.input());
    const auto rows = static_cast<int>(r.rows());
    std::vector<int> all;
    for (int row = 0; row < rows; ++row) {
      const std::optional<int> survivors = count(r, row, on_diagonal ? row : 0);
      if (!survivors || *survivors > rows) {
        problem = "a sum is no number of units: the large terms left something";
        return {};
      }
      all.push_back(rows - *survivors);
    }
    return all;
  }

  static std::string order_of(const SumSpine& spine, const std::vector<int>& lost) {
    return spine.order.empty() ? "of its own order, hash " + hash_text(lost) : spine.order;
  }

  void read_steps() {
    const Reading* r = need(Reveals::steps, {"shape"});
    if (r == nullptr) return;
    std::string problem;
    const std::vector<int> all = lost(*r, problem);
    if (problem.empty() && all[0] != 0) problem = "the terms alone do not sum to their number";
    if (!problem.empty()) return unknown("shape", problem);
    const SumSpine spine = spine_of(all, 1);
    say("shape", order_of(spine, all));
    if (spine.block > 1 && all[1] == spine.block) step_ = static_cast<int>(spine.block);
  }

  void read_spine() {
    const Reading* r = need(Reveals::spine, {"long_sum", "split_k"});
    if (r == nullptr) return;
    std::string problem;
    const std::vector<int> all = lost(*r, problem);
    if (!problem.empty()) {
      unknown("long_sum", problem);
      return unknown("split_k", problem);
    }
    const SumSpine spine = spine_of(all, probe::stretch(r->probe->terms, r->rows()));
    say("long_sum", order_of(spine, all));
    const auto half = known_.find(Reveals::spine_half);
    if (half == known_.end()) return;
    if (spine.order == "sequential") return say("split_k", "none");
    if (spine.block == 0) return unknown("split_k", "no blocks are seen");
    const Reading& h = *half->second;
    const std::vector<int> halved = lost(h, problem);
    const int64_t block = problem.empty() ? spine_of(halved, probe::stretch(h.probe->terms, h.rows())).block : 0;
    if (block == spine.block) return say("split_k", "none");
    if (2 * block == spine.block) return say("split_k", std::to_string(spine.blocks));
    unknown("split_k", "of half as many terms the blocks are of " + std::to_string(block) + ", of all " +
                           std::to_string(spine.block));
  }

  // The value of a ladder's row, the base scaled away.
  static double rung(const Reading& r, int order, int kind, int f) {
    return std::ldexp(r.at(probe::ladder_row(order, kind, f)), -probe::ladder_base(r.input()));
  }

  // Steps of the ladder that survive in one order.
  static int bits_of(const Reading& r, int order) {
    const int reach = probe::ladder_reach(r.input());
    int bits = 0;
    while (bits < reach && rung(r, order, probe::kLost, bits + 1) == power(-bits - 1)) ++bits;
    return bits;
  }

  // The least of the three orders, and which.
  static std::pair<int, int> least_bits(const Reading& r) {
    std::pair<int, int> least{bits_of(r, 0), 0};
    for (int order = 1; order < probe::kLadderOrders; ++order) {
      least = std::min(least, {bits_of(r, order), order});
    }
    return least;
  }

  static std::string bits_text(const Reading& r, int bits) {
    return bits == probe::ladder_reach(r.input()) ? std::to_string(bits) + " or more" : std::to_string(bits);
  }

  // `half` and `below` are what became of 1.5 times half a unit in the last place, `tie` of half a unit.
  static std::string rounding_of(double half, double below, double tie, double unit) {
    if (half == unit && below == -unit) {
      return tie == 0 ? "nearest, ties to even" : tie == unit ? "nearest, ties away" : "nearest";
    }
    if (half == 0 && below == 0) return "towards zero";
    if (half == 0 && below == -unit) return "down";
    if (half == unit && below == 0) return "up";
    return "";
  }

  void read_bits() {
    const Reading* near = need(Reveals::near, {"aligned_bits"});
    const Reading* far = need(Reveals::far, {"kept_bits", "rounding", "stored_rounding"});
    if (near != nullptr) say("aligned_bits", bits_text(*near, least_bits(*near).first));
    if (far == nullptr) return;
    const auto [bits, order] = least_bits(*far);
    say("kept_bits", bits_text(*far, bits));
    if (bits >= probe::ladder_reach(far->input())) {
      unknown("rounding", "the inputs' range ends before the sum's bits do");
    } else {
      const std::string rounding =
          rounding_of(rung(*far, order, probe::kHalf, bits + 1), rung(*far, order, probe::kHalfBelow, bits + 1),
                      rung(*far, order, probe::kLost, bits + 1), power(-bits));
      if (rounding.empty()) {
        unknown("rounding", "what is left of a half is no rounding's");
      } else {
        say("rounding", rounding);
      }
    }
    read_stored_rounding(*far, bits);
    if (near == nullptr || step_ < 2) return;
    say("unit", unit_text(step_, least_bits(*near).first, bits));
  }

  void read_stored_rounding(const Reading& r, int bits) {
    const int stored = format_of(r.answer->dtype).precision;
    if (bits < stored) return;  // the output holds all that the sum kept
    const double unit = power(1 - stored);
    const std::string rounding =
        rounding_of(rung(r, 0, probe::kStoredHalf, stored) - 1, rung(r, 0, probe::kStoredHalfBelow, stored) + 1,
                    rung(r, 0, probe::kStored, stored) - 1, unit);
    if (rounding.empty()) return unknown("stored_rounding", "what is left of a half is no rounding's");
    say("stored_rounding", rounding);
  }

  void read_partials() {
    const Reading* r = need(Reveals::ends, {"partial_bits"});
    if (r != nullptr) say("partial_bits", bits_text(*r, bits_of(*r, 0)));
  }

  void read_input_bits() {
    const Reading* r = need(Reveals::input_bits, {"input_bits"});
    if (r == nullptr) return;
    const int most = format_of(r->input()).precision - 1;
    int bits = 0;
    while (bits < most && r->at(bits + 1) == 1 + power(-bits - 1)) ++bits;
    cuts_inputs_ = bits < most;
    if (!cuts_inputs_) return say("input_bits", std::to_string(bits) + ", all");
    const double half = r->at(probe::kLadderSteps + bits + 1);
    say("input_bits", std::to_string(bits) + (half == 1                  ? ", towards zero"
                                              : half == 1 + power(-bits) ? ", nearest"
                                                                         : ""));
  }

  void read_fused_multiply() {
    const Reading* r = need(Reveals::fused_multiply, {"fused_multiply"});
    if (r == nullptr) return;
    if (cuts_inputs_) return unknown("fused_multiply", "inputs are cut before they are multiplied");
    const int64_t k = r->probe->terms;
    int64_t fused = 0, rounded = 0;
    for (int64_t row = 1; row < k; ++row) {
      for (const double left : {r->at(row, probe::kFusedColumn), r->at(k + row, probe::kFusedColumnTurned)}) {
        fused += left == power(-2 * probe::fused_bits(r->input())) ? 1 : 0;
        rounded += left == 0 ? 1 : 0;
      }
    }
    if (fused + rounded != 2 * (k - 1)) return unknown("fused_multiply", "what is left is neither's");
    // A sum that begins with the product rounds it whatever it does.
    say("fused_multiply", fused > 0 ? "yes" : "no");
  }

  void read_subnormal(const Reading& r, std::string_view fact, int64_t row, int64_t column, double expected) {
    const double got = r.at(row, column);
    if (got == 0) return say(fact, "flushed");
    const double ratio = got / expected;
    if (ratio > 0.5 && ratio < 2) return say(fact, "kept");
    unknown(fact, "the result is neither zero nor what it should be");
  }

  void read_subnormals() {
    if (asked(Reveals::subnormals)) {
      if (const Reading* r = need(Reveals::subnormals, {"subnormal_inputs"})) {
        read_subnormal(*r, "subnormal_inputs", probe::kSubnormalInput, 0, least(*r) / 2);
        if (r->probe->terms > 1) read_subnormal(*r, "subnormal_sums", probe::kSubnormalSum, 0, -least(*r) / 2);
      }
    }
    if (asked(Reveals::subnormals_in)) {
      if (const Reading* r = need(Reveals::subnormals_in, {"subnormal_inputs", "subnormal_sums"})) {
        read_subnormal(*r, "subnormal_inputs", probe::kSubnormalInput, 0, least(*r) / 2);
        if (r->input() == DType::f16 || r->input() == DType::e4m3) {
          unknown("subnormal_sums", "no sum of these inputs is subnormal in an accumulator");
        } else {
          read_subnormal(*r, "subnormal_sums", probe::kSubnormalSum, 0, -least(*r) / 2);
        }
      }
    }
    if (asked(Reveals::subnormals_out)) {
      if (const Reading* r = need(Reveals::subnormals_out, {"subnormal_outputs"})) {
        if (r->answer->dtype != r->input()) {
          unknown("subnormal_outputs", "no result of these inputs is subnormal in the output");
        } else {
          read_subnormal(*r, "subnormal_outputs", probe::kLeastNormal, 0, least(*r));
        }
      }
    }
    if (asked(Reveals::faint)) {
      if (const Reading* r = need(Reveals::faint, {"subnormal_outputs"})) {
        read_subnormal(*r, "subnormal_outputs", 0, 1, least(*r) * std::exp(-0.5));
      }
    }
  }

  static double least(const Reading& r) { return power(format_of(r.input()).min_exponent); }

  // Of probes whose columns all have the same terms.
  void read_columns() {
    bool any = false;
    std::string differ;
    for (const Reveals what : {Reveals::tree, Reveals::spine, Reveals::near, Reveals::far, Reveals::ends}) {
      const auto found = known_.find(what);
      if (found == known_.end() || found->second->probe->columns < 2) continue;
      const Reading& r = *found->second;
      if (probe::in_both_factors(r.input()) && what == Reveals::spine) continue;
      any = true;
      const size_t element = size_of(r.answer->dtype), row = element * static_cast<size_t>(r.probe->columns);
      for (size_t at = 0; at < r.answer->bytes.size() && differ.empty(); at += element) {
        const auto begin = r.answer->bytes.begin();
        const auto first = begin + static_cast<std::ptrdiff_t>(at / row * row);
        const auto here = begin + static_cast<std::ptrdiff_t>(at);
        if (!std::equal(first, first + static_cast<std::ptrdiff_t>(element), here)) {
          differ = "differ, first in column " + std::to_string(at % row / element);
        }
      }
    }
    if (any) say("columns", differ.empty() ? "alike" : differ);
  }

  void read_order() {
    const Reading* all = need(Reveals::order, {"order", "batch"});
    if (all == nullptr) return;
    say("order", hash_of(*all));
    const Reading* alone = need(Reveals::order_alone, {"batch"});
    if (alone == nullptr) return;
    const bool same = std::equal(alone->answer->bytes.begin(), alone->answer->bytes.end(), all->answer->bytes.begin());
    say("batch", same ? "the same alone" : "differs");
  }

  // A 1 at each place in turn among terms of s, less than half of what it is known to: those that met no other before
  // the 1 are lost. The result there is one over the sum.
  void read_absorbed() {
    const Reading* r = need(Reveals::absorbed, {"absorbed"});
    if (r == nullptr) return;
    const int precision = format_of(r->input()).precision;
    if (precision < 24) return unknown("absorbed", "the output is too short to show it");
    const double small = std::exp2(-(precision + 0.5));
    const auto n = static_cast<int>(r->probe->terms);
    std::vector<int> survivors;
    for (int i = 0; i < n; ++i) {
      const double left = (1 / r->at(i, i) - 1) / small;
      if (!(left > -n && left < 3 * n)) return unknown("absorbed", "a sum is out of range");
      survivors.push_back(static_cast<int>(std::lround(left)));
    }
    const auto [fewest, most] = std::minmax_element(survivors.begin(), survivors.end());
    bool in_turn = true;
    for (int i = 0; i < n; ++i) in_turn = in_turn && std::abs(survivors[static_cast<size_t>(i)] - i) <= 3;
    say("absorbed", (in_turn ? std::string("as in sequence")
                             : "between " + std::to_string(n - 1 - *most) + " and " + std::to_string(n - 1 - *fewest) +
                                   " of " + std::to_string(n - 1)) +
                        ", hash " + hash_text(survivors));
  }

  // Sums that are odd are half way between two results.
  void read_ties() {
    const Reading* r = need(Reveals::ties, {"ties"});
    if (r == nullptr) return;
    bool even = true, away = true, zero = true, exact = true;
    for (int64_t row = 0; row < probe::kStepsRows; ++row) {
      const int64_t sum = row - probe::kStepsRows / 2;
      const double half = static_cast<double>(sum) * 0.5, got = r->at(row) * r->probe->factor;
      if (half == std::floor(half)) exact = exact && got == half;
      even = even && got == std::nearbyint(half);
      away = away && got == std::round(half);
      zero = zero && got == std::trunc(half);
    }
    if (!exact) return unknown("ties", "results that need no rounding are not right");
    say("ties", even ? "to even" : away ? "away from zero" : zero ? "towards zero" : "in another way");
  }

  std::vector<Fact> sorted() {
    const auto place = [](const Fact& fact) {
      return std::find_if(std::begin(kFacts), std::end(kFacts),
                          [&](const FactRow& row) { return row.name == fact.name; });
    };
    std::stable_sort(facts_.begin(), facts_.end(), [&](const Fact& a, const Fact& b) { return place(a) < place(b); });
    return std::move(facts_);
  }

  std::vector<Reading> readings_{};
  std::map<Reveals, const Reading*> known_;
  std::map<Reveals, std::string> missing_;
  std::vector<Fact> facts_;
  int step_ = 0;  // terms added at once
  bool cuts_inputs_ = false;
};

std::string shown(const Fact& fact) { return fact.value.empty() ? "unknown (" + fact.why + ")" : fact.value; }

}  // namespace

std::span<const FactRow> fact_table() { return kFacts; }

std::string unit_text(int terms, int fraction, int precision) {
  return std::to_string(terms) + "/" + std::to_string(fraction) + "/" + std::to_string(precision);
}

std::vector<Fact> facts_of(const ProbeSet& set, std::span<const ProbeAnswer> answers) {
  return Reader(set, answers).read();
}

std::vector<std::string> changed_facts(const std::vector<Fact>& before, const std::vector<Fact>& now) {
  std::vector<std::string> changes;
  const auto named = [](const std::vector<Fact>& facts, const std::string& name) -> const Fact* {
    for (const Fact& fact : facts) {
      if (fact.name == name) return &fact;
    }
    return nullptr;
  };
  for (const Fact& fact : now) {
    const Fact* old = named(before, fact.name);
    if (old != nullptr && *old == fact) continue;
    changes.push_back(fact.name + ": " + (old == nullptr ? "nothing" : shown(*old)) + " -> " + shown(fact));
  }
  for (const Fact& fact : before) {
    if (named(now, fact.name) == nullptr) changes.push_back(fact.name + ": " + shown(fact) + " -> nothing");
  }
  return changes;
}

}  // namespace assay
