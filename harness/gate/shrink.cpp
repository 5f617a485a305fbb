#include "gate/shrink.h"

#include <algorithm>
#include <array>
#include <bit>

#include "core/error.h"
#include "record/invariance.h"
#include "record/verdict.h"

namespace assay {
namespace {

// Inputs that a reader checks in his head come first.
constexpr std::array<std::string_view, 4> kSimplestFills{"zeros", "ones", "integers", "normal"};

void simpler_fills(const std::string& now, std::vector<std::string>& values) {
  for (const std::string_view fill : kSimplestFills) {
    if (fill == now) return;
    values.emplace_back(fill);
  }
}

// Steps from `now` towards `aim`, the longest first: halves of the way, and powers of two, which keep what remains of a
// division by any smaller one.
void steps_towards(int64_t aim, int64_t now, std::vector<std::string>& values) {
  const int64_t sign = now < aim ? -1 : 1;
  for (int64_t step = sign * (now - aim); step != 0; step /= 2) {
    const auto power = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(step)));
    values.push_back(print_number(now - sign * step));
    if (power != step) values.push_back(print_number(now - sign * power));
  }
}

// Of inputs that may be left out one by one in a minute.
constexpr int64_t kMostElements = 4096;

// One draw in so many is judged with many seeds.
constexpr int kOneManySeedsIn = 2;
// One that looks right is judged all the same; with many seeds by turns, as the two have no factor in common.
constexpr int kOneJudgedAnywayIn = 7;

// So many seeds a drawn case may have, the first one that is glanced at fewer: until a glance takes this share of the
// time.
constexpr int64_t kMostSeeds = 1024, kFirstSeeds = 16;
constexpr double kShareOfAGlance = 0.005;

// A failure that so many glances in a row see is taken to be seen by any: what then looks right is not judged. A
// race is seen by some.
constexpr int kGlancesThatTell = 8;
// Of a larger case a glance takes as long as judging.
constexpr int64_t kMostElementsAtAGlance = 1 << 20;

// Of the time that is left, until which fields are shrunk one by one and, of what has many outputs, others are drawn
// and listed ones tried: large cases take long. The rest is for what is left of all.
constexpr double kFieldsShare = 0.4, kDrawsShare = 0.85, kListedShare = 0.92;

constexpr int64_t kAligned = 8;  // elements, as long as vectors and copy engines ask of rows

bool is_axis(const FieldSpec& field) { return field.kind == FieldKind::integer && !field.fallback; }

class Shrinking {
 public:
  Shrinking(const Op& op, const Case& failing, const ShrinkQuestions& ask)
      : op_(op),
        fields_(op.all_fields()),
        ask_(ask),
        shrunk_{failing},
        most_seeds_(ask.looks_right ? kFirstSeeds : kMostSeeds),
        begun_(std::min(1.0, ask.used())) {}

  Shrunk run() {
    const Case failing = shrunk_.smallest;
    begin_stage(kFieldsShare);
    cap_all_axes();
    shrink_fields();
    bool is_simplest = !stopped_, all_tried = true;
    if (has_many_outputs()) {
      begin_stage(kDrawsShare);
      if (draw_few_outputs({failing, shrunk_.smallest})) is_simplest = false;
      all_tried = !stopped_;
    }
    if (has_many_outputs()) {
      begin_stage(kListedShare);
      if (try_listed()) is_simplest = false;
      all_tried = all_tried && !stopped_;
    }
    begin_stage(1);
    if (!is_simplest) shrink_fields();
    shrink_support();
    shrunk_.finished = !stopped_ && all_tried;
    return shrunk_;
  }

 private:
  using Changes = std::vector<std::pair<std::string, std::string>>;
  using Predicate = std::function<bool(const Case&)>;

  // Stops where this share is used of the time that was left once the case had been judged.
  void begin_stage(double share) {
    share_ = begun_ + share * (1 - begun_);
    stopped_ = false;
  }

  bool has_many_outputs() const { return output_elements(op_, shrunk_.smallest) > kFewOutputs; }

  // What fails for how far apart a tensor's elements are, where 32 bits do not count that, say, does so in few of them
  // too, with padding between: in rows of eight, which are aligned still, or in as many rows of one as may be, for a
  // path that begins behind a tile of rows.
  bool keep_distance_by_padding() {
    const Case& failing = shrunk_.smallest;
    if (!has_many_outputs()) return false;
    const std::vector<TensorSpec> tensors = op_.tensors(failing);
    const auto longest = std::ranges::max_element(tensors, {}, &TensorSpec::span_elements);
    const auto at = static_cast<size_t>(longest - tensors.begin());
    const int64_t span = longest->span_elements();
    for (const Changes& lengths : lengths_of_few_outputs()) {
      for (const FieldSpec& field : fields_) {
        if (!field.name.starts_with("pad")) continue;
        const auto with_pad = [&](int64_t pad) {
          Changes changes = lengths;
          changes.emplace_back(field.name, print_number(pad));
          return changes;
        };
        const auto span_with_pad = [&](int64_t pad) {
          const std::optional<Case> c = smallest_with(with_pad(pad));
          return c ? op_.tensors(*c)[at].span_elements() : 0;
        };
        const int64_t bare = span_with_pad(0), rows = span_with_pad(1) - bare;
        if (rows <= 0) continue;  // rows of another tensor
        if (try_out(with_pad(((span - bare) / rows / kAligned + 1) * kAligned))) return true;
      }
    }
    return false;
  }

  std::vector<Changes> lengths_of_few_outputs() const {
    std::vector<Changes> all{axes_up_to([](const FieldSpec&) { return kAligned; })};
    for (const FieldSpec& rows : fields_) {
      if (!is_axis(rows)) continue;
      all.push_back(axes_up_to([&](const FieldSpec& f) { return f.name == rows.name ? kFewOutputs : 1; }));
    }
    return all;
  }

  Changes axes_up_to(const std::function<int64_t(const FieldSpec&)>& most_of) const {
    Changes changes;
    for (const FieldSpec& field : fields_) {
      if (!is_axis(field)) continue;
      const int64_t most = std::max(most_of(field), field.least);
      changes.emplace_back(field.name, print_number(std::min(most, shrunk_.smallest.integer(field.name))));
    }
    return changes;
  }

  // All axes at once: what needs a relation between them shrinks too, and large cases, which take long, soon. With
  // padding once short ones show nothing, since such a case takes as long as the one that failed.
  void cap_all_axes() {
    int64_t longest = 0;
    for (const FieldSpec& field : fields_) {
      if (is_axis(field)) longest = std::max(longest, shrunk_.smallest.integer(field.name));
    }
    for (int64_t cap = 1; cap < longest && !stopped_; cap *= 2) {
      if (cap == 2 * kAligned && keep_distance_by_padding()) return;
      if (try_out(axes_up_to([&](const FieldSpec&) { return cap; }))) return;
    }
  }

  void shrink_fields() {
    do {
      glances_tell_ = shows_at_each_glance();  // of the case as it is now: those before may have been too large
    } while (!stopped_ && shrink_each_field());
  }

  bool shrink_each_field() {
    bool any = false;
    for (const FieldSpec& field : fields_) {
      while (!stopped_ && shrink_field(field)) any = true;
    }
    return any;
  }

  bool shrink_field(const FieldSpec& field) {
    for (const std::string& value : simpler_values(field, shrunk_.smallest.at(field.name))) {
      if (try_out({{field.name, value}})) return true;
      if (stopped_) return false;
    }
    return false;
  }

  struct Element {
    size_t tensor;
    int64_t index;
  };

  // What the support keeps of inputs that are not zero anyway.
  std::vector<Element> elements_kept(const std::vector<TensorSpec>& tensors) const {
    const Support support = Support::parse(shrunk_.smallest.word("support"));
    std::vector<Element> kept;
    for (size_t t = 0; t < tensors.size(); ++t) {
      const TensorSpec& tensor = tensors[t];
      if (tensor.role == Role::output || !tensor.is_read || tensor.fill.generator == "zeros") continue;
      for (const IndexRange& range : support.kept_of(tensor.name)) {
        const int64_t last = std::min(range.last, tensor.elements() - 1);
        if (static_cast<int64_t>(kept.size()) + last - range.first >= kMostElements) return {};
        for (int64_t i = range.first; i <= last; ++i) kept.push_back({t, i});
      }
    }
    return kept;
  }

  static std::string support_of(const std::vector<Element>& kept, const std::vector<TensorSpec>& tensors) {
    Support support{.all = false};
    for (const Element& e : kept) support.kept[tensors[e.tensor].name].push_back({e.index, e.index});
    for (auto& [name, ranges] : support.kept) {
      const auto elements = std::ranges::find(tensors, name, &TensorSpec::name)->elements();
      ranges = static_cast<int64_t>(ranges.size()) == elements ? IndexRanges{{}} : merged(std::move(ranges));
    }
    return support.text();
  }

  // Delta debugging (Zeller and Hildebrandt, Simplifying and isolating failure-inducing input, 2002) by complements:
  // elements in so many parts, each left out in turn; none can be: parts half as long.
  void shrink_support() {
    const std::vector<TensorSpec> tensors = op_.tensors(shrunk_.smallest);
    std::vector<Element> kept = elements_kept(tensors);
    size_t parts = 1;
    while (!kept.empty() && !stopped_) {
      bool any = false;
      for (size_t part = 0; part < parts && !stopped_;) {
        const auto at = [&](size_t p) { return kept.begin() + static_cast<std::ptrdiff_t>(kept.size() * p / parts); };
        std::vector<Element> fewer(kept.begin(), at(part));
        fewer.insert(fewer.end(), at(part + 1), kept.end());
        const std::string support = support_of(fewer, tensors);
        if (support.size() > kLongestSupport || !try_out({{"support", support}})) {
          ++part;
          continue;
        }
        kept = std::move(fewer);
        any = true;
        if (--parts == 0) return;
      }
      if (!any && parts >= kept.size()) return;
      parts = std::clamp<size_t>(any ? parts : 2 * parts, 2, std::max<size_t>(kept.size(), 2));
    }
  }

  // Those of the smoke tier with fewer outputs, the fewest first: what one element of thousands shows has inputs there
  // that were made to show it.
  bool try_listed() {
    const std::string& dtype = shrunk_.smallest.word("dtype");
    std::vector<std::pair<int64_t, Case>> fewer;
    for (const Case& c : op_.cases(Tier::smoke)) {
      const int64_t outputs = output_elements(op_, c);
      if (c.word("dtype") == dtype && outputs < output_elements(op_, shrunk_.smallest)) fewer.emplace_back(outputs, c);
    }
    std::ranges::stable_sort(fewer, {}, &std::pair<int64_t, Case>::first);
    return std::ranges::any_of(fewer, [&](const auto& listed) {
      const Case& c = listed.second;
      return has_time() && !looks_right(c) && try_case(c);
    });
  }

  bool draw_few_outputs(std::vector<Case> failing) {
    FewOutputs draws(op_, std::move(failing));
    while (shrunk_.drawn < kMostDrawn && has_time()) {
      const bool with_many_seeds = ask_.many_seeds && (shrunk_.drawn + 1) % kOneManySeedsIn == 0;
      const auto drawn = draws.next(with_many_seeds ? most_seeds_ : 1);
      if (!drawn) return false;
      ++shrunk_.drawn;
      const std::optional<Case> found = failing_one(drawn->c, drawn->seeds);
      // Twice: of so many, what fails now and then would fail once.
      if (found && fails(*found) && try_case(*found)) return true;
    }
    return false;
  }

  // The drawn case if it seems to fail; with so many seeds, the one of them that does.
  std::optional<Case> failing_one(const Case& c, int64_t seeds) {
    const Case all = seeds > 1 ? seeds_from(c, c.integer("seed"), seeds) : c;
    const auto one_that = [&](const Predicate& shows) { return seeds > 1 ? failing_seed(c, seeds, shows) : c; };
    if (ask_.looks_right) {
      const double before = ask_.used();
      const bool is_right = looks_right(all);
      if (seeds > 1) note_glance(ask_.used() - before);
      if (!is_right) return one_that([&](const Case& some) { return !looks_right(some); });
      const bool is_judged_anyway = !glances_tell_ && shrunk_.drawn % kOneJudgedAnywayIn == 0;
      if (!is_judged_anyway) return std::nullopt;
    }
    if (seeds > 1 && !fails(all)) return std::nullopt;
    return one_that([&](const Case& some) { return fails(some); });
  }

  // One at many seeds took this share of the time. On a GPU that others use too a seed takes far longer than on a CPU.
  void note_glance(double share) {
    if (share > kShareOfAGlance) {
      most_seeds_ = std::max<int64_t>(most_seeds_ / 2, 2);
    } else if (share < kShareOfAGlance / 2) {
      most_seeds_ = std::min(2 * most_seeds_, kMostSeeds);
    }
  }

  static Case seeds_from(const Case& c, int64_t first, int64_t count) {
    return c.with({{"seed", print_number(first)}, {"seeds", print_number(count)}});
  }

  // Of so many seeds from the case's own on, which show the failure together, the half that does, down to one, which
  // nobody has asked about alone.
  static Case failing_seed(const Case& c, int64_t seeds, const Predicate& shows) {
    int64_t first = c.integer("seed");
    while (seeds > 1) {
      const int64_t half = seeds / 2;
      const bool in_first = shows(seeds_from(c, first, half));
      if (!in_first) first += half;
      seeds = in_first ? half : seeds - half;
    }
    return seeds_from(c, first, 1);
  }

  // Nothing where the op has no such case.
  std::optional<Case> smallest_with(const Changes& changes) const {
    try {
      Case c = shrunk_.smallest.with(changes);
      op_.require(c);
      return c;
    } catch (const UsageError&) {
      return std::nullopt;
    }
  }

  bool try_out(const Changes& changes) {
    const std::optional<Case> candidate = smallest_with(changes);
    if (!candidate || *candidate == shrunk_.smallest || !has_time()) return false;
    return !(glances_tell_ && looks_right(*candidate)) && try_case(*candidate);
  }

  bool shows_at_each_glance() const {
    if (!ask_.looks_right || elements_of(op_, shrunk_.smallest) > kMostElementsAtAGlance) return false;
    for (int i = 0; i < kGlancesThatTell; ++i) {
      if (looks_right(shrunk_.smallest)) return false;
    }
    return true;
  }

  bool looks_right(const Case& c) const { return ask_.looks_right && ask_.looks_right(c); }

  bool try_case(const Case& c) {
    if (!fails(c)) return false;
    shrunk_.smallest = c;
    ask_.smaller(c);
    return true;
  }

  bool has_time() {
    stopped_ = stopped_ || ask_.used() >= share_;
    return !stopped_;
  }

  bool fails(const Case& c) {
    if (!has_time()) return false;
    ++shrunk_.judged;
    return ask_.fails(c);
  }

  const Op& op_;
  std::vector<FieldSpec> fields_;
  const ShrinkQuestions& ask_;
  Shrunk shrunk_;
  double share_ = 1;
  bool stopped_ = false;
  bool glances_tell_ = false;
  int64_t most_seeds_;  // of a drawn case
  double begun_;        // the share of the time that was used before
};

}  // namespace

std::optional<Failure> failure_of(const Record& record) {
  if (exit_code_of(record.verdict) != 1 && record.verdict != Verdict::known) return std::nullopt;
  for (const CheckResult& result : record.checks) {
    if (result.outcome != Outcome::fail) continue;
    if (record.verdict == Verdict::known || result.verdict == record.verdict) {
      return Failure{result.verdict, result.check, result.detail.starts_with(kBesideCallers), !result.of_case.empty(),
                     record.verdict == Verdict::known};
    }
  }
  return std::nullopt;
}

bool fails_as(const Failure& first, const Record& smaller) {
  std::optional<Failure> failure = failure_of(smaller);
  if (!failure || (failure->is_known && !first.is_known)) return false;
  failure->is_known = first.is_known;
  return *failure == first;
}

std::vector<std::string> simpler_values(const FieldSpec& field, const FieldValue& value) {
  std::vector<std::string> values;
  if (field.name == "dtype" || field.name == "support") return values;
  if (field.name == "fill") {
    simpler_fills(value.text, values);
  } else if (field.kind == FieldKind::integer && field.name != "seed") {
    const int64_t aim = field.fallback ? std::stoll(*field.fallback) : std::max<int64_t>(field.least, 1);
    if (field.fallback || value.integer > aim) steps_towards(aim, value.integer, values);
  } else if (field.fallback && *field.fallback != value.text) {
    values.push_back(*field.fallback);
  }
  return values;
}

Shrunk shrink(const Op& op, const Case& failing, const ShrinkQuestions& ask) {
  return Shrinking(op, failing, ask).run();
}

}  // namespace assay
