#include "measure/moderated_t.h"

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <boost/math/special_functions/digamma.hpp>
#include <boost/math/special_functions/polygamma.hpp>
#include <boost/math/special_functions/trigamma.hpp>
#include <cmath>
#include <limits>
#include <vector>

#include "core/error.h"

namespace assay {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

double mean_of(std::span<const double> values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

double median_variance(std::vector<Variance> variances) {
  const auto middle = variances.begin() + std::ssize(variances) / 2;
  std::ranges::nth_element(variances, middle, {}, &Variance::value);
  return middle->value;
}

}  // namespace

Variance variance_of(std::span<const double> values) {
  if (values.empty()) throw Error("no values to take a variance of");
  const double mean = mean_of(values);
  double sum = 0;
  for (const double value : values) sum += (value - mean) * (value - mean);
  const double freedom = static_cast<double>(values.size() - 1);
  return {freedom > 0 ? sum / freedom : 0, freedom};
}

double trigamma_inverse(double y) {
  if (!(y > 0)) throw Error("trigamma is above 0 everywhere: it has no inverse of " + std::to_string(y));
  // Where these approximations hold to rounding, Newton's method would only lose digits.
  if (y > 1e7) return 1 / std::sqrt(y);
  if (y < 1e-6) return 1 / y;
  double x = 0.5 + 1 / y;
  for (int i = 0; i < 50; ++i) {
    const double trigamma = boost::math::trigamma(x);
    const double step = trigamma * (1 - trigamma / y) / boost::math::polygamma(2, x);
    x += step;
    if (-step / x < 1e-12) break;  // monotone: steps never change their sign
  }
  return x;
}

Variance fit_variance_prior(std::span<const Variance> of_cases) {
  std::vector<Variance> known(of_cases.begin(), of_cases.end());
  std::erase_if(known, [](const Variance& v) { return v.freedom <= 0; });
  Variance pooled;
  for (const Variance& v : known) pooled = combine(pooled, v, kInfinity);
  const double median = known.empty() ? 0 : median_variance(known);
  if (known.size() < 2 || median <= 0) return pooled;
  std::vector<double> logarithms;  // e_g of the paper: log s_g^2 without its bias
  double noise = 0;                // what sampling adds to their variance
  for (const Variance& v : known) {
    const double half = v.freedom / 2;
    logarithms.push_back(std::log(std::max(v.value, 1e-5 * median)) - boost::math::digamma(half) + std::log(half));
    noise += boost::math::trigamma(half) / static_cast<double>(known.size());
  }
  const double beyond_noise = variance_of(logarithms).value - noise;
  const double mean = mean_of(logarithms);
  if (beyond_noise <= 0) return {std::exp(mean), kInfinity};
  const double half = trigamma_inverse(beyond_noise);
  return {std::exp(mean + boost::math::digamma(half) - std::log(half)), 2 * half};
}

Variance combine(const Variance& a, const Variance& b, double most_freedom) {
  const double freedom = a.freedom + b.freedom;
  if (freedom <= 0) return {};
  if (std::isinf(a.freedom)) return {a.value, most_freedom};
  if (std::isinf(b.freedom)) return {b.value, most_freedom};
  return {(a.freedom * a.value + b.freedom * b.value) / freedom, std::min(freedom, most_freedom)};
}

ModeratedT::ModeratedT(std::span<const double> deltas, const Variance& prior) : blocks_(std::ssize(deltas)) {
  for (const double delta : deltas) {
    if (!std::isfinite(delta)) throw Error("the delta of a block is not a number");
  }
  const Variance all = combine(prior, variance_of(deltas), kInfinity);
  mean_ = mean_of(deltas);
  deviation_ = std::sqrt(all.value);
  freedom_ = all.freedom;
}

double ModeratedT::standard_error() const { return deviation_ / std::sqrt(static_cast<double>(blocks_)); }

double ModeratedT::p_above(double bound) const {
  if (freedom_ <= 0) return 1;
  if (deviation_ == 0) return mean_ > bound ? 0 : 1;
  const boost::math::students_t distribution(freedom_);
  return boost::math::cdf(boost::math::complement(distribution, (mean_ - bound) / standard_error()));
}

double ModeratedT::p_below(double bound) const {
  if (freedom_ <= 0) return 1;
  if (deviation_ == 0) return mean_ < bound ? 0 : 1;
  return boost::math::cdf(boost::math::students_t(freedom_), (mean_ - bound) / standard_error());
}

ConfidenceInterval ModeratedT::bounds(double confidence) const {
  if (freedom_ <= 0 || confidence >= 1) return {-kInfinity, kInfinity};
  const double width = boost::math::quantile(boost::math::students_t(freedom_), confidence) * standard_error();
  return {mean_ - width, mean_ + width};
}

}  // namespace assay
