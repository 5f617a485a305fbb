#include "gate/shrink.h"

#include <algorithm>
#include <array>
#include <bit>

#include "core/draw.h"
#include "core/error.h"
#include "gate/case_draw.h"
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

// A failure that so many glances in a row see is taken to be seen by any: what then looks right is not judged. A
// race is seen by some.
constexpr int kGlancesThatTell = 8;
// Of a larger case a glance takes as long as judging.
constexpr int64_t kMostElementsAtAGlance = 1 << 20;

// Of the time, until which fields are shrunk one by one and, of what has many outputs, others are drawn: large cases
// take long. The rest is for what is left of both.
constexpr double kFieldsShare = 0.4, kDrawsShare = 0.85;

bool is_axis(const FieldSpec& field) { return field.kind == FieldKind::integer && !field.fallback; }

// With their padding, which takes as much memory.
int64_t elements_of(const Op& op, const Case& c) {
  int64_t elements = 0;
  for (const TensorSpec& tensor : op.tensors(c)) elements += tensor.span_elements();
  return elements;
}

// Cases of few outputs near some that fail: lengths drawn anew or left as they are, those that are summed over also
// longer, as far as a case takes no more work and memory than the first, or little, and at times one that makes it take
// nearly as much; another seed, at times another fill and other attributes: a path may be for transposed or padded
// operands too.
class FewOutputs {
 public:
  FewOutputs(const Op& op, std::vector<Case> failing)
      : op_(op), failing_(std::move(failing)), attribute_values_(op, op.cases(Tier::ci)) {
    for (const FieldSpec& field : op.all_fields()) {
      if (is_length(field)) {
        lengths_.push_back(field);
      } else if (field.name == "fill") {
        fill_ = field;
      } else if (is_attribute(field) && field.name != "dtype") {
        attributes_.push_back(field);
      }
    }
    most_elements_ = std::max(elements_of(op, failing_.front()), int64_t{1} << 20);
    most_work_ = std::max(work_of(failing_.front()), 0x1p20);
  }

  // Of some the one that shows most outputs, with a seed or with as many as it is judged with, for a fault that is in
  // few of them. Nothing where there seems to be none.
  struct Drawn {
    Case c;
    int64_t seeds;
  };
  std::optional<Drawn> next(bool with_many_seeds) {
    constexpr int kTries = 1000, kCompared = 4;
    std::optional<Drawn> best;
    int64_t most = 0;
    for (int tries = 0, found = 0; tries < kTries && found < kCompared; ++tries) {
      const std::optional<Case> c = one();
      if (!c) continue;
      ++found;
      const int64_t seeds = with_many_seeds ? seeds_for(*c) : 1;
      const int64_t shown = seeds * output_elements(op_, *c);
      if (best && shown <= most) continue;
      best = {*c, seeds};
      most = shown;
    }
    return best;
  }

 private:
  // So many that they take some tenths of a second: further seeds are launched once and verified, no more.
  int64_t seeds_for(const Case& c) const {
    constexpr int64_t kMostSeeds = 1024, kSeedElements = 1 << 20;
    return std::clamp<int64_t>(kSeedElements / elements_of(op_, c), 1, kMostSeeds);
  }

  double work_of(const Case& c) const {
    double work = 1;
    for (const FieldSpec& field : lengths_) work *= std::max(c.real(field.name), 1.0);
    return work;
  }

  std::optional<Case> one() {
    const Case& near = draw_.one_of(failing_);
    std::vector<std::pair<std::string, std::string>> changes;
    double work = 1;
    for (const FieldSpec& field : lengths_) {
      const bool kept = draw_.one_in(2);
      const int64_t least = std::max<int64_t>(field.least, 1);
      const int64_t length = kept ? near.integer(field.name) : draw_length(draw_, least, most_elements_);
      work *= static_cast<double>(std::max<int64_t>(length, 1));
      changes.emplace_back(field.name, print_number(length));
    }
    if (draw_.one_in(4)) {  // of independent lengths few products come near the most
      auto& [name, length] = changes[draw_.below(lengths_.size())];
      const double others = work / std::max(std::stod(length), 1.0), share = 1 - 0x1p-6 * double(draw_.below(32));
      const double rest = std::clamp(most_work_ * share / others, 1.0, static_cast<double>(most_elements_));
      length = print_number(static_cast<int64_t>(rest));
      work = others * rest;
    }
    if (work > most_work_) return std::nullopt;
    changes.emplace_back("seed", print_number(1 + static_cast<int64_t>(draw_.below(uint64_t{1} << 20))));
    if (draw_.one_in(4)) changes.emplace_back(fill_.name, attribute_values_.attribute(draw_, fill_));
    if (draw_.one_in(2)) {
      for (const FieldSpec& field : attributes_) {
        if (draw_.one_in(4)) changes.emplace_back(field.name, attribute_values_.attribute(draw_, field));
      }
    }
    try {
      Case c = near.with(changes);
      op_.require(c);
      const bool fits = output_elements(op_, c) <= kFewOutputs && elements_of(op_, c) <= most_elements_;
      return fits ? std::optional(std::move(c)) : std::nullopt;
    } catch (const UsageError&) {
      return std::nullopt;
    }
  }

  const Op& op_;
  std::vector<Case> failing_;
  CaseDraw attribute_values_;
  std::vector<FieldSpec> lengths_, attributes_;
  FieldSpec fill_;
  int64_t most_elements_;
  double most_work_;
  Draw draw_{kShrinkSeed};
};

class Shrinking {
 public:
  Shrinking(const Op& op, const Case& failing, const ShrinkQuestions& ask)
      : op_(op), fields_(op.all_fields()), ask_(ask), shrunk_{failing} {}

  Shrunk run() {
    const Case failing = shrunk_.smallest;
    begin_stage(kFieldsShare);
    cap_all_axes();
    shrink_fields();
    bool is_simplest = !stopped_, all_drawn = true;
    if (output_elements(op_, shrunk_.smallest) > kFewOutputs) {
      begin_stage(kDrawsShare);
      if (draw_few_outputs({failing, shrunk_.smallest})) is_simplest = false;
      all_drawn = !stopped_;
    }
    begin_stage(1);
    if (!is_simplest) shrink_fields();
    shrink_support();
    shrunk_.finished = !stopped_ && all_drawn;
    return shrunk_;
  }

 private:
  using Changes = std::vector<std::pair<std::string, std::string>>;

  // Stops where this share of the time is used.
  void begin_stage(double share) {
    share_ = share;
    stopped_ = false;
  }

  // All axes at once: what needs a relation between them shrinks too, and large cases, which take long, soon.
  void cap_all_axes() {
    int64_t longest = 0;
    for (const FieldSpec& field : fields_) {
      if (is_axis(field)) longest = std::max(longest, shrunk_.smallest.integer(field.name));
    }
    for (int64_t cap = 1; cap < longest && !stopped_; cap *= 2) {
      Changes changes;
      for (const FieldSpec& field : fields_) {
        if (!is_axis(field)) continue;
        const int64_t most = std::max(cap, field.least);
        changes.emplace_back(field.name, print_number(std::min(most, shrunk_.smallest.integer(field.name))));
      }
      if (try_out(changes)) return;
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

  bool draw_few_outputs(std::vector<Case> failing) {
    FewOutputs draws(op_, std::move(failing));
    while (shrunk_.drawn < kMostDrawn && has_time()) {
      const bool with_many_seeds = ask_.many_seeds && (shrunk_.drawn + 1) % kOneManySeedsIn == 0;
      const auto drawn = draws.next(with_many_seeds);
      if (!drawn) return false;
      ++shrunk_.drawn;
      const Case seen = with_many_seeds ? seeds_from(drawn->c, drawn->c.integer("seed"), drawn->seeds) : drawn->c;
      const bool is_judged_anyway = !glances_tell_ && shrunk_.drawn % kOneJudgedAnywayIn == 0;
      if (!is_judged_anyway && ask_.looks_right(seen)) continue;
      const std::optional<Case> found = with_many_seeds ? failing_seed(drawn->c, drawn->seeds) : drawn->c;
      // Twice: of so many, what fails now and then would fail once.
      if (found && fails(*found) && try_case(*found)) return true;
    }
    return false;
  }

  static Case seeds_from(const Case& c, int64_t first, int64_t count) {
    return c.with({{"seed", print_number(first)}, {"seeds", print_number(count)}});
  }

  // Of so many seeds from the case's own on, judged as one case: of what fails the half that does, down to one, which
  // nobody has judged alone.
  std::optional<Case> failing_seed(const Case& c, int64_t seeds) {
    int64_t first = c.integer("seed");
    const auto of = [&](int64_t count) { return seeds_from(c, first, count); };
    if (!fails(of(seeds))) return std::nullopt;
    while (seeds > 1) {
      const int64_t half = seeds / 2;
      const bool in_first = fails(of(half));
      if (!in_first) first += half;
      seeds = in_first ? half : seeds - half;
    }
    return of(1);
  }

  bool try_out(const Changes& changes) {
    std::optional<Case> candidate;
    try {
      candidate = shrunk_.smallest.with(changes);
      op_.require(*candidate);
    } catch (const UsageError&) {
      return false;
    }
    if (*candidate == shrunk_.smallest || !has_time()) return false;
    return !(glances_tell_ && ask_.looks_right(*candidate)) && try_case(*candidate);
  }

  bool shows_at_each_glance() const {
    if (elements_of(op_, shrunk_.smallest) > kMostElementsAtAGlance) return false;
    for (int i = 0; i < kGlancesThatTell; ++i) {
      if (ask_.looks_right(shrunk_.smallest)) return false;
    }
    return true;
  }

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
};

}  // namespace

int64_t output_elements(const Op& op, const Case& c) {
  int64_t elements = 0;
  for (const TensorSpec& tensor : op.tensors(c)) {
    if (tensor.role != Role::input) elements += tensor.elements();
  }
  return elements;
}

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
