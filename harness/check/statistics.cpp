#include "check/statistics.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>

namespace assay {
namespace {

struct Statistic {
  const char* name;
  double SeedStatistics::*value;
};
constexpr std::array<Statistic, 4> kStatistics{{{"misrounded", &SeedStatistics::misrounded},
                                                {"mean signed ulps", &SeedStatistics::mean_signed_ulps},
                                                {"rms q", &SeedStatistics::rms_q},
                                                {"mean signed q", &SeedStatistics::mean_signed_q}}};

struct Moments {
  double mean = 0;
  double variance = 0;  // of one value, unbiased
};

Moments moments_of(std::span<const double> values) {
  Moments m;
  for (const double v : values) m.mean += v;
  m.mean /= static_cast<double>(values.size());
  for (const double v : values) m.variance += (v - m.mean) * (v - m.mean);
  m.variance /= static_cast<double>(values.size() - 1);
  return m;
}

std::vector<double> values_of(std::span<const SeedStatistics> seeds, const Statistic& statistic) {
  std::vector<double> values;
  for (const SeedStatistics& seed : seeds) values.push_back(seed.*statistic.value);
  return values;
}

std::string shown(std::span<const double> values) {
  const Moments m = moments_of(values);
  return fmt::format("{:.4g} +- {:.2g}", m.mean, std::sqrt(m.variance));
}

}  // namespace

double welch_p(std::span<const double> a, std::span<const double> b) {
  const Moments ma = moments_of(a), mb = moments_of(b);
  const double va = ma.variance / static_cast<double>(a.size());
  const double vb = mb.variance / static_cast<double>(b.size());
  const double difference = std::fabs(ma.mean - mb.mean);
  // What summing n values of this size may round: no difference.
  const double rounding = 0x1p-48 * std::max(std::fabs(ma.mean), std::fabs(mb.mean));
  if (difference <= rounding) return 1;
  if (std::sqrt(va + vb) <= rounding) return 0;
  const double freedom = (va + vb) * (va + vb) /
                         (va * va / static_cast<double>(a.size() - 1) + vb * vb / static_cast<double>(b.size() - 1));
  const boost::math::students_t distribution(freedom);
  return 2 * boost::math::cdf(boost::math::complement(distribution, difference / std::sqrt(va + vb)));
}

StatisticalResult compare_statistics(std::span<const SeedStatistics> approved,
                                     std::span<const SeedStatistics> observed) {
  StatisticalResult result;
  if (approved.size() < kLeastSeeds || observed.size() < kLeastSeeds) {
    result.outcome = Outcome::skipped;
    result.detail =
        fmt::format("{} approved and {} observed seeds; {} are needed", approved.size(), observed.size(), kLeastSeeds);
    return result;
  }
  for (const Statistic& statistic : kStatistics) {
    const std::vector<double> before = values_of(approved, statistic), now = values_of(observed, statistic);
    const auto finite = [](double v) { return std::isfinite(v); };
    const bool comparable =
        std::all_of(before.begin(), before.end(), finite) && std::all_of(now.begin(), now.end(), finite);
    const double p = before == now ? 1 : comparable ? std::min(1.0, 4 * welch_p(before, now)) : 0;
    if (result.detail.empty() || p < result.p) {
      result.p = std::min(result.p, p);
      result.detail = fmt::format("{}: approved {}, now {} (p {:.2g})", statistic.name, shown(before), shown(now), p);
    }
  }
  if (!(result.p >= kStatisticalLevel)) result.outcome = Outcome::fail;
  return result;
}

}  // namespace assay
