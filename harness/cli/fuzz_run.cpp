#include "cli/fuzz_run.h"

#include <random>

namespace assay {

Options with_seed(Options options) {
  if (options.fuzz.empty() || options.seed) return options;
  options.seed = std::random_device()();
  options.argv.insert(options.argv.end(), {"--seed", std::to_string(*options.seed)});
  return options;
}

FuzzRun::FuzzRun(const Options& options, const OpRegistry& ops, Plan& plan, const std::vector<Record>& earlier,
                 bool ended)
    : plan_(plan),
      budget_(parse_fuzz_budget(options.fuzz)),
      ended_(ended),
      fuzzer_(ops, plan, options.device, options.filters, options.seed.value()) {
  for (const Record& record : earlier) {
    for (const auto& [phase, seconds] : record.seconds) spent_ += seconds;
    earlier_[record.kernel_id] = record;
  }
  recorded_ = earlier_.size();
}

bool FuzzRun::over() const {
  if (ended_) return true;
  const double seconds = spent_ + seconds_since(start_);
  return (budget_.seconds > 0 && seconds >= budget_.seconds) ||
         (budget_.cases > 0 && static_cast<int64_t>(plan_.cases.size()) >= budget_.cases);
}

bool FuzzRun::more() {
  // What is recorded is drawn again first; what is not by then never is.
  if (over() && (earlier_.empty() || plan_.cases.size() >= recorded_)) return false;
  std::optional<PlannedCase> drawn = fuzzer_.next();
  if (!drawn) return false;
  plan_.cases.push_back(*std::move(drawn));
  if (const auto known = earlier_.extract(plan_.cases.back().id)) fuzzer_.learn(known.mapped());
  return true;
}

}  // namespace assay
