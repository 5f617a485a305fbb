#include "gate/library_bisection.h"

#include <algorithm>
#include <cstddef>

#include "core/error.h"
#include "gate/canary_verdict.h"

namespace assay {
namespace {

using nlohmann::json;

// Of the undecided ones strictly between two, the one nearest to the middle; none when all were asked.
std::optional<size_t> next_of(const std::vector<std::optional<Goodness>>& known, size_t good, size_t bad) {
  std::optional<size_t> best;
  const auto off_middle = [&](size_t i) {
    const size_t twice = 2 * i, middle = good + bad;
    return twice > middle ? twice - middle : middle - twice;
  };
  for (size_t i = good + 1; i < bad; ++i) {
    if (!known[i] && (!best || off_middle(i) < off_middle(*best))) best = i;
  }
  return best;
}

bool is_of_latency(const json& reason) {
  const std::string kind = reason.at("kind"), what = reason.at("what");
  // What is timed is named with its metric: "gemm/openblas:m=1 warm".
  return kind == "slower" || kind == "tail" || kind == "voids" || what.find(' ') != std::string::npos;
}

bool might_reject(const json& reason, bool latency_rejects) {
  if (reason.at("asks") != word_of(CanaryVerdict::hold)) return false;
  if (is_of_latency(reason)) return latency_rejects;
  const std::string kind = reason.at("kind");
  return !reason.at("what").get<std::string>().empty() && (kind == "unknown" || kind == "coverage");
}

bool has_order(const std::string& kind) { return kind == "debian" || kind == "wheel"; }

}  // namespace

Goodness goodness_of(const json& canary, const json& last) {
  const int promote = exit_code_of(CanaryVerdict::promote), reject = exit_code_of(CanaryVerdict::reject);
  const int code = canary.at("exit_code"), sought = last.at("exit_code");
  if (code == promote) return Goodness::good;
  if (code == reject || code == sought) return Goodness::bad;
  if (code != exit_code_of(CanaryVerdict::hold) || sought != reject) return Goodness::unknown;
  const bool latency_rejects = std::ranges::any_of(last.at("reasons"), [](const json& reason) {
    return reason.at("asks") == word_of(CanaryVerdict::reject) && is_of_latency(reason);
  });
  const bool is_open = std::ranges::any_of(canary.at("reasons"),
                                           [&](const json& reason) { return might_reject(reason, latency_rejects); });
  return is_open ? Goodness::unknown : Goodness::good;
}

std::vector<LibraryVersion> versions_between(const LibraryPlace& place, const LibraryRecipe& recipe,
                                             const std::string& words, std::vector<std::string>& notes) {
  const size_t dots = words.find("..");
  const std::string a = words.substr(0, dots), b = dots == std::string::npos ? "" : words.substr(dots + 2);
  if (a.empty() || b.empty()) throw UsageError("--bisect " + words + ": give two versions, such as 0.3.21..0.3.29");
  LibraryVersion first = find_library_version(place, recipe, a, notes);
  const LibraryVersion last = find_library_version(place, recipe, b, notes);
  if (first.kind == "system" && last.kind == "debian") {  // what is installed is of a suite, most often
    first = find_library_version(place, recipe, "debian:" + first.version, notes);
  }
  if (first.kind != last.kind || first.source.package != last.source.package || !has_order(first.kind)) {
    const bool has_folder = first.kind == "folder" || last.kind == "folder";
    throw UsageError("--bisect " + words + ": " + text_of(first) + " and " + text_of(last) +
                     " are not of one source with versions in order; " +
                     (has_folder ? "judge a folder by itself, with --candidate or --pin FOLDER"
                                 : "name the source of both, as in debian:A..debian:B or wheel:A..wheel:B"));
  }
  if (!is_earlier(first.version, last.version)) {
    throw UsageError("--bisect " + words + ": " + text_of(first) + " does not come before " + text_of(last));
  }
  std::vector<LibraryVersion> versions;
  for (LibraryVersion& one : library_versions(place, recipe, notes)) {
    if (one.kind != first.kind || one.source.package != first.source.package) continue;
    const auto same = [&](const LibraryVersion& other) { return other.version == one.version; };
    const bool is_between = !is_earlier(one.version, first.version) && !is_earlier(last.version, one.version);
    if (is_between && std::ranges::none_of(versions, same)) versions.push_back(std::move(one));
  }
  std::ranges::sort(versions, [](const auto& x, const auto& y) { return is_earlier(x.version, y.version); });
  return versions;
}

Bisection bisect(const std::vector<LibraryVersion>& versions,
                 const std::function<Goodness(const LibraryVersion&)>& judge) {
  if (versions.size() < 2) throw UsageError("--bisect: there are no two versions to tell apart");
  Bisection result;
  std::vector<std::optional<Goodness>> known(versions.size());
  const auto ask = [&](size_t i) {
    known[i] = judge(versions[i]);
    result.steps.push_back({versions[i], *known[i]});
    return *known[i];
  };
  size_t good = 0, bad = versions.size() - 1;
  if (ask(good) != Goodness::good) {
    throw UsageError("--bisect: " + text_of(versions[good]) + ", the first, is not good; begin with an earlier one");
  }
  result.last_good = versions[good];
  if (const Goodness last = ask(bad); last == Goodness::unknown) {
    throw UsageError("--bisect: of " + text_of(versions[bad]) + ", the last, nothing is known; end with another one");
  } else if (last == Goodness::good) {
    return result;
  }
  while (const auto next = next_of(known, good, bad)) {
    const Goodness judged = ask(*next);
    if (judged == Goodness::good) good = *next;
    if (judged == Goodness::bad) bad = *next;
  }
  result.last_good = versions[good];
  result.first_bad = versions[bad];
  result.between.assign(versions.begin() + static_cast<std::ptrdiff_t>(good) + 1,
                        versions.begin() + static_cast<std::ptrdiff_t>(bad));
  return result;
}

}  // namespace assay
