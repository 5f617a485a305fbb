#include "check/guard.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "check/rows.h"
#include "core/error.h"

namespace assay {
namespace {

class Guard {
 public:
  Guard(DType t, const std::byte* region, int64_t element_at, Poison poison)
      : region_(region), element_at_(element_at) {
    for (int64_t i = 0; i < 8; ++i) period_[i] = poison_byte(t, poison, i - element_at % 8);
  }

  // Bytes [begin, end) of the region must hold the pattern. Returns how many there are.
  int64_t expect(int64_t begin, int64_t end, GuardReport::Where where) {
    const int64_t length = std::max<int64_t>(0, end - begin);
    // A run that starts with one period and equals itself shifted by one is periodic throughout.
    int64_t head = 0;
    while (head < std::min<int64_t>(8, length) && region_[begin + head] == pattern(begin + head)) ++head;
    if (head == length) return length;
    if (head == 8 && std::memcmp(region_ + begin, region_ + begin + 8, static_cast<size_t>(length - 8)) == 0) {
      return length;
    }
    for (int64_t i = begin; i < end; ++i) {
      if (region_[i] == pattern(i)) continue;
      if (report.stray++ == 0) {
        report.first = i - element_at_;
        report.where = where;
      }
    }
    return length;
  }

  GuardReport report;

 private:
  std::byte pattern(int64_t at) const { return period_[at % 8]; }

  const std::byte* region_;
  const int64_t element_at_;
  std::byte period_[8];
};

}  // namespace

GuardReport check_guards(const TensorSpec& spec, const std::byte* region, size_t bytes, size_t element_at,
                         Poison poison) {
  const auto length = static_cast<int64_t>(bytes);
  const auto origin = static_cast<int64_t>(element_at);
  const auto size = static_cast<int64_t>(size_of(spec.dtype));
  Guard guard(spec.dtype, region, origin, poison);
  const std::vector<AdjacentElements> runs = runs_by_address(spec);
  if (runs.empty()) {
    guard.report.before = guard.expect(0, length, GuardReport::Where::before);
    return guard.report;
  }
  int64_t at = 0;
  for (const AdjacentElements& run : runs) {
    const int64_t begin = origin + run.offset * size;
    const int64_t end = begin + run.count * size;
    if (begin < 0 || end > length) {
      throw Error(
          fmt::format("guards of {}: elements at bytes {} to {} of a region of {}", spec.name, begin, end, length));
    }
    const bool first = &run == &runs.front();
    const auto where = first ? GuardReport::Where::before : GuardReport::Where::padding;
    (first ? guard.report.before : guard.report.padding) += guard.expect(at, begin, where);
    at = std::max(at, end);
  }
  guard.report.after = guard.expect(at, length, GuardReport::Where::after);
  return guard.report;
}

std::string describe(const TensorSpec& spec, const GuardReport& report) {
  if (report.stray == 0) return "";
  static constexpr const char* kWhere[] = {"before the elements", "padding between elements", "after the elements"};
  return fmt::format("{}: byte {:+} from its first element was written ({}); {} stray bytes", spec.name, report.first,
                     kWhere[static_cast<size_t>(report.where)], report.stray);
}

}  // namespace assay
