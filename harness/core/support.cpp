#include "core/support.h"

#include <algorithm>

#include "core/error.h"
#include "core/number_text.h"
#include "core/op.h"

namespace assay {
namespace {

// Of "a+b.0.5" at '+': "a", "b.0.5". One empty part for an empty text.
std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  while (true) {
    const size_t end = text.find(at);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

int64_t parse_index(std::string_view text, std::string_view part) {
  const int64_t index = number_of<int64_t>(text).value_or(-1);
  if (index < 0 || index == IndexRange{}.last) {
    throw UsageError("'" + std::string(text) + "' in '" + std::string(part) +
                     "' is no index of an element; give a.0.5-7 for elements 0, 5, 6 and 7 of a");
  }
  return index;
}

IndexRange parse_range(std::string_view text, std::string_view part) {
  const size_t dash = text.find('-');
  const int64_t first = parse_index(text.substr(0, dash), part);
  const int64_t last = dash == std::string_view::npos ? first : parse_index(text.substr(dash + 1), part);
  if (last < first) throw UsageError("'" + std::string(text) + "' in '" + std::string(part) + "' runs backwards");
  return {first, last};
}

bool is_an_input(const TensorSpec& tensor) { return tensor.role != Role::output && tensor.is_read; }

std::string names_of_inputs(const std::vector<TensorSpec>& tensors) {
  std::string names;
  for (const TensorSpec& tensor : tensors) {
    if (is_an_input(tensor)) names += (names.empty() ? "" : ", ") + tensor.name;
  }
  return names.empty() ? "none" : names;
}

}  // namespace

IndexRanges merged(IndexRanges ranges) {
  std::ranges::sort(ranges, {}, &IndexRange::first);
  IndexRanges all;
  for (const IndexRange& range : ranges) {
    const bool meets = !all.empty() && (all.back().last == IndexRange{}.last || range.first <= all.back().last + 1);
    if (meets) {
      all.back().last = std::max(all.back().last, range.last);
    } else {
      all.push_back(range);
    }
  }
  return all;
}

Support Support::parse(std::string_view text) {
  if (text == "all") return {};
  Support support{.all = false};
  if (text == "none") return support;
  for (const std::string_view part : split(text, '+')) {
    const std::vector<std::string_view> words = split(part, '.');
    if (words[0].empty()) {
      throw UsageError("'" + std::string(part) + "' names no tensor; give all, none, or parts such as a.0.5-7+b");
    }
    IndexRanges ranges;
    for (size_t i = 1; i < words.size(); ++i) ranges.push_back(parse_range(words[i], part));
    if (ranges.empty()) ranges.push_back({});
    const auto [entry, is_new] = support.kept.try_emplace(std::string(words[0]), merged(std::move(ranges)));
    if (!is_new) throw UsageError("tensor " + entry->first + " is named twice");
  }
  return support;
}

std::string Support::text() const {
  if (all) return "all";
  std::string text;
  for (const auto& [tensor, ranges] : kept) {
    if (ranges.empty()) continue;
    text += (text.empty() ? "" : "+") + tensor;
    if (ranges == IndexRanges{IndexRange{}}) continue;
    for (const IndexRange& range : ranges) {
      text += "." + std::to_string(range.first);
      if (range.last != range.first) text += "-" + std::to_string(range.last);
    }
  }
  return text.empty() ? "none" : text;
}

IndexRanges Support::kept_of(std::string_view tensor) const {
  if (all) return {IndexRange{}};
  const auto found = kept.find(tensor);
  return found == kept.end() ? IndexRanges{} : found->second;
}

void require_within(const Support& support, const std::vector<TensorSpec>& tensors) {
  for (const auto& [name, ranges] : support.kept) {
    const auto found = std::ranges::find(tensors, name, &TensorSpec::name);
    if (found == tensors.end() || !is_an_input(*found)) {
      throw UsageError("there is no input '" + name + "' that is read; there are " + names_of_inputs(tensors));
    }
    if (ranges.empty() || ranges == IndexRanges{IndexRange{}} || ranges.back().last < found->elements()) continue;
    throw UsageError(name + " has no element " + std::to_string(ranges.back().last) + "; it has " +
                     std::to_string(found->elements()) + ", from 0 on");
  }
}

}  // namespace assay
