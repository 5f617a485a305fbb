#include "gate/sweep.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <unordered_set>

#include "core/clock.h"
#include "core/error.h"
#include "core/matrix_product.h"
#include "record/json.h"
#include "record/verdict.h"

namespace assay {
namespace {

using nlohmann::json;

constexpr size_t kBatch = 32;  // cases of a message

class Sweeper {
 public:
  explicit Sweeper(const SweepJob& job) : job_(job) { found_.kernel = job.kernel.op + "/" + job.kernel.name; }

  Sweep run() {
    try {
      start_judge();
    } catch (const JudgeStopped&) {
      return std::move(found_);  // what other kernels were found to be is not lost
    }
    const auto begin = Clock::now();
    const auto spent = [&] { return seconds_since(begin); };
    while (!job_.stop_asked() && !found_.gave_up && spent() < job_.seconds) {
      const std::vector<Case> batch = next_batch();
      if (batch.empty()) break;
      ask(batch);
      found_.seconds = spent();
    }
    return std::move(found_);
  }

 private:
  // As many as are still wanted; none when there are enough, or no claimed draw is found in very many.
  std::vector<Case> next_batch() {
    constexpr int64_t kMostInVain = 20000;
    size_t wanted = kBatch;
    if (job_.shapes > 0) wanted = static_cast<size_t>(std::clamp<int64_t>(job_.shapes - found_.verified, 0, kBatch));
    std::vector<Case> batch;
    for (int64_t in_vain = 0; batch.size() < wanted && in_vain < kMostInVain; ++in_vain) {
      std::optional<Case> c = next_draw();
      if (!c) continue;
      if (!unclaimed(job_.kernel.contract, *c).empty()) {
        ++found_.not_claimed;
        continue;
      }
      batch.push_back(std::move(*c));
      in_vain = 0;
    }
    return batch;
  }

  // Nothing where the draw came before, or is another part's.
  std::optional<Case> next_draw() {
    const auto& product = dynamic_cast<const MatrixProductOp&>(*job_.op);
    const int64_t index = next_index_++;
    const Case shape = product.drawn(job_.seed, index);
    if (!seen_.insert(shape.id()).second) return std::nullopt;
    const auto distinct = static_cast<int64_t>(seen_.size()) - 1;
    if (distinct % job_.shard.count != job_.shard.index - 1) return std::nullopt;
    return shape.with({{"seed", print_number(index + 1)}});  // other elements each time
  }

  void ask(const std::vector<Case>& batch) {
    if (const auto answers = answers_to(batch)) {
      for (size_t i = 0; i < batch.size() && !found_.gave_up; ++i) note(batch[i], (*answers)[i]);
      return;
    }
    for (const Case& c : batch) {
      if (found_.gave_up || job_.stop_asked()) return;
      const auto alone = answers_to({&c, 1});
      note(c, alone ? (*alone)[0] : Screened{.verdict = Verdict::error, .reason = "the judge died over it: " + death_});
    }
  }

  // Nothing when the judge died.
  std::optional<std::vector<Screened>> answers_to(std::span<const Case> cases) {
    try {
      if (!judge_) start_judge();
      return judge_->screen(job_.kernel, cases, Verification::freivalds);
    } catch (const JudgeDied& died) {
      judge_.reset();
      death_ = died.what();
      return std::nullopt;
    }
  }

  void start_judge() {
    judge_ = job_.start_judge();
    load_steadily(*judge_, job_.kernel.module);
  }

  void note(const Case& c, const Screened& screened) {
    if (screened.verdict != Verdict::pass) {
      Record record = screened.record;
      record.kernel_id = c.kernel_id(job_.kernel.name);
      record.verdict = screened.verdict;
      record.reason = screened.reason.substr(0, screened.reason.find(':'));  // the check: what is known is one line
      job_.excuse(record);
      if (record.verdict == Verdict::known) {
        ++found_.known[record.reason];
        return;
      }
      found_.failures.push_back({record.kernel_id, screened.verdict, screened.reason});
      found_.gave_up = found_.failures.size() >= kMostFailures;
    } else if (!screened.refused.empty()) {
      ++found_.refused[screened.refused];
    } else if (!screened.unverified.empty()) {
      ++found_.unverified[screened.unverified];
    } else {
      ++found_.verified;
    }
  }

  const SweepJob& job_;
  std::unique_ptr<Judge> judge_;
  std::string death_;  // of the last judge that died
  int64_t next_index_ = 0;
  std::unordered_set<std::string> seen_;
  Sweep found_;
};

}  // namespace

Sweep sweep_kernel(const SweepJob& job) { return Sweeper(job).run(); }

Sweep merged(const std::vector<Sweep>& parts) {
  Sweep all;
  for (const Sweep& part : parts) {
    all.kernel = part.kernel;
    all.verified += part.verified;
    all.failures.insert(all.failures.end(), part.failures.begin(), part.failures.end());
    all.gave_up = all.gave_up || part.gave_up;
    for (const auto& [reason, count] : part.known) all.known[reason] += count;
    for (const auto& [reason, count] : part.refused) all.refused[reason] += count;
    for (const auto& [reason, count] : part.unverified) all.unverified[reason] += count;
    all.not_claimed += part.not_claimed;
    all.seconds = std::max(all.seconds, part.seconds);
  }
  return all;
}

json to_json(const Sweep& sweep) {
  json failures = json::array();
  for (const SweepFailure& one : sweep.failures) {
    failures.push_back({{"id", one.id}, {"verdict", word_of(one.verdict)}, {"reason", one.reason}});
  }
  return {{"kernel", sweep.kernel},         {"verified", sweep.verified},
          {"failures", failures},           {"gave_up", sweep.gave_up},
          {"known", sweep.known},           {"refused", sweep.refused},
          {"unverified", sweep.unverified}, {"not_claimed", sweep.not_claimed},
          {"seconds", sweep.seconds}};
}

Sweep sweep_from_json(const json& value) {
  Sweep sweep{.kernel = value.at("kernel"),
              .verified = value.at("verified"),
              .gave_up = value.at("gave_up"),
              .known = value.at("known"),
              .refused = value.at("refused"),
              .unverified = value.at("unverified"),
              .not_claimed = value.at("not_claimed"),
              .seconds = value.at("seconds")};
  for (const json& one : value.at("failures")) {
    sweep.failures.push_back({one.at("id"), verdict_named(one.at("verdict").get<std::string>()), one.at("reason")});
  }
  return sweep;
}

}  // namespace assay
