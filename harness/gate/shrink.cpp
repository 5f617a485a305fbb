#include "gate/shrink.h"

#include <algorithm>
#include <array>
#include <bit>

#include "core/error.h"
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

bool is_axis(const FieldSpec& field) { return field.kind == FieldKind::integer && !field.fallback; }

class Shrinking {
 public:
  Shrinking(const Op& op, const Case& failing, const std::function<bool(const Case&)>& fails,
            const std::function<bool()>& stop, const std::function<void(const Case&)>& smaller)
      : op_(op), fields_(op.all_fields()), fails_(fails), stop_(stop), smaller_(smaller), shrunk_{failing} {}

  Shrunk run() {
    cap_all_axes();
    while (!stopped_ && shrink_each_field()) {
    }
    shrink_support();
    shrunk_.finished = !stopped_;
    return shrunk_;
  }

 private:
  using Changes = std::vector<std::pair<std::string, std::string>>;

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

  bool try_out(const Changes& changes) {
    std::optional<Case> candidate;
    try {
      candidate = shrunk_.smallest.with(changes);
      op_.require(*candidate);
    } catch (const UsageError&) {
      return false;
    }
    if (*candidate == shrunk_.smallest) return false;
    stopped_ = stop_();
    if (stopped_) return false;
    ++shrunk_.judged;
    if (!fails_(*candidate)) return false;
    shrunk_.smallest = *candidate;
    smaller_(*candidate);
    return true;
  }

  const Op& op_;
  std::vector<FieldSpec> fields_;
  const std::function<bool(const Case&)>& fails_;
  const std::function<bool()>& stop_;
  const std::function<void(const Case&)>& smaller_;
  Shrunk shrunk_;
  bool stopped_ = false;
};

}  // namespace

std::optional<Failure> failure_of(const Record& record) {
  if (exit_code_of(record.verdict) != 1 && record.verdict != Verdict::known) return std::nullopt;
  for (const CheckResult& result : record.checks) {
    if (result.outcome != Outcome::fail) continue;
    if (record.verdict == Verdict::known || result.verdict == record.verdict) {
      return Failure{result.verdict, result.check};
    }
  }
  return std::nullopt;
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

Shrunk shrink(const Op& op, const Case& failing, const std::function<bool(const Case&)>& fails,
              const std::function<bool()>& stop, const std::function<void(const Case&)>& smaller) {
  return Shrinking(op, failing, fails, stop, smaller).run();
}

}  // namespace assay
