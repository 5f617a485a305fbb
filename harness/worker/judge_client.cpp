#include "worker/judge_client.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <optional>

#include "core/error.h"
#include "measure/summary.h"
#include "record/json.h"
#include "record/verdict.h"
#include "worker/process.h"
#include "worker/timing.h"

namespace assay {

using nlohmann::json;

namespace {

// A judge and whatever comes of it know whose they are by this.
constexpr const char* kMark = "ASSAY_JUDGE";

}  // namespace

struct JudgeClient::Impl {
  explicit Impl(const JudgeSettings& settings)
      : stop_asked(settings.stop_asked),
        others(own_children()),
        mark(fmt::format("{}-{}", fmt::ptr(this), std::chrono::steady_clock::now().time_since_epoch().count())) {
    adopt_orphans();
    close_to_others();  // from the first judge on: what starts none keeps its core dumps and can be debugged by its
                        // user
    process.emplace(ProcessSettings{.program = settings.judge_program.string(),
                                    .arguments = {std::to_string(::getpid()), std::string(kMark) + "=" + mark},
                                    .environment = {{kMark, mark}},
                                    .capture_output = false});
    json hello = to_json(settings);
    hello["do"] = "settings";
    ask(hello);
  }

  ~Impl() { end(); }

  // A judge that is killed sets its workers free, and what they have started. Another judge's and what was there before
  // are spared; what bears no mark has put it away, and is ended by the first.
  void end() {
    process->kill();
    end_children([this](pid_t pid) {
      if (std::find(others.begin(), others.end(), pid) != others.end() || is_before_or_after_its_work(pid)) return true;
      const std::string whose = given_variable(pid, kMark);
      return !whose.empty() && whose != mark;
    });
  }

  json ask(const json& message) {
    try {
      json answer = process->request(message, stop_asked);
      if (const auto usage = answer.find("usage"); usage != answer.end()) throw UsageError(usage->get<std::string>());
      if (const auto error = answer.find("error"); error != answer.end()) throw Error(error->get<std::string>());
      return answer;
    } catch (const ProcessLost& lost) {
      end();
      const std::string what = std::string("the judge ") + lost.what();
      if (lost.loss == Loss::stopped) throw JudgeStopped(what);
      throw JudgeDied(what);
    }
  }

  std::function<bool()> stop_asked;
  std::vector<pid_t> others;  // children of this process before there was this judge
  std::string mark;
  std::optional<Process> process;
};

namespace {

json naming(const char* what, const KernelInfo& kernel, const Case& c) {
  return {
      {"do", what}, {"module", kernel.module.string()}, {"op", kernel.op}, {"kernel", kernel.name}, {"case", c.id()}};
}

unsigned digit_of(char c) {
  if (c >= '0' && c <= '9') return static_cast<unsigned>(c - '0');
  if (c >= 'a' && c <= 'f') return static_cast<unsigned>(c - 'a' + 10);
  throw Error(std::string("the judge's bytes: '") + c + "' is no hexadecimal digit");
}

std::vector<std::byte> bytes_of(const std::string& hexadecimal) {
  std::vector<std::byte> bytes(hexadecimal.size() / 2);
  for (size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<std::byte>(digit_of(hexadecimal[2 * i]) << 4 | digit_of(hexadecimal[2 * i + 1]));
  }
  return bytes;
}

}  // namespace

JudgeClient::JudgeClient(const JudgeSettings& settings) : impl_(std::make_unique<Impl>(settings)) {}
JudgeClient::~JudgeClient() = default;

int JudgeClient::pid() const { return impl_->process->pid(); }

std::vector<KernelInfo> JudgeClient::load(const std::filesystem::path& module) {
  std::vector<KernelInfo> kernels;
  const std::string file = std::filesystem::absolute(module).lexically_normal().string();
  const json answer = impl_->ask({{"do", "load"}, {"module", file}});
  for (const json& kernel : answer.at("kernels")) {
    kernels.push_back({file, kernel.at("module_hash"), kernel.at("op"), kernel.at("name"), kernel.at("target"),
                       contract_from_json(kernel.at("contract"))});
  }
  return kernels;
}

Record JudgeClient::check(const KernelInfo& kernel, const Case& c, Company company) {
  json message = naming("check", kernel, c);
  message["in_company"] = company == Company::others;
  return record_from_json(impl_->ask(message).at("record"));
}

std::vector<Screened> JudgeClient::screen(const KernelInfo& kernel, std::span<const Case> cases, Verification by) {
  json message = {{"do", "screen"}, {"module", kernel.module.string()}, {"op", kernel.op}, {"kernel", kernel.name}};
  message["by"] = kVerifications.at(static_cast<size_t>(by));
  message["cases"] = json::array();
  for (const Case& c : cases) message["cases"].push_back(c.id());
  const json answer = impl_->ask(message);
  std::vector<Screened> all;
  for (const json& one : answer.at("screened")) {
    all.push_back({one.at("refused"), one.at("unverified"), verdict_named(one.at("verdict").get<std::string>()),
                   one.at("reason"), one.at("record").is_null() ? Record{} : record_from_json(one.at("record"))});
  }
  if (all.size() != cases.size()) throw Error("the judge answered for " + std::to_string(all.size()) + " cases");
  return all;
}

Probed JudgeClient::probe(const KernelInfo& kernel, const Case& c, const std::string& output, bool fresh) {
  json message = naming("probe", kernel, c);
  message["output"] = output;
  message["fresh"] = fresh;
  const json answer = impl_->ask(message);
  Probed probed{{}, answer.value("refused", ""), answer.value("failed", "")};
  if (answer.contains("bytes")) probed.bytes = bytes_of(answer.at("bytes").get_ref<const std::string&>());
  return probed;
}

Contract JudgeClient::plan_contract(const KernelInfo& kernel, const Case& c) {
  return contract_from_json(impl_->ask(naming("plan", kernel, c)).at("contract"));
}

void JudgeClient::sample(const KernelInfo& kernel, const Case& c, const SamplePlan& plan, Record& record) {
  json message = naming("sample", kernel, c);
  message["warm"] = plan.warm_samples;
  message["cold"] = plan.cold_samples;
  message["seconds"] = plan.seconds_at_most;
  message["samples_folder"] = plan.samples_folder.string();
  const Record timed = record_from_json(impl_->ask(message).at("record"));
  record.latency = timed.latency;
  for (const CheckResult& failed : timed.checks) {
    for (CheckResult& result : record.checks) {
      if (result.check == failed.check) result = failed;
    }
  }
}

void JudgeClient::prepare(const KernelInfo& kernel, const Case& c) {
  json message = naming("prepare", kernel, c);
  message["contract"] = to_json(kernel.contract);
  message["scatter"] = 0;
  impl_->ask(message);
}

Timed JudgeClient::time(const KernelInfo& kernel, const Case& c, const TimePlan& plan) {
  json message = naming("time", kernel, c);
  message["contract"] = to_json(kernel.contract);
  message["warm"] = plan.warm_samples;
  message["cold"] = plan.cold_samples;
  message["seconds"] = plan.seconds_at_most;
  message["enough"] = plan.enough;
  message["enough_seconds"] = plan.enough_seconds;
  message["turns"] = plan.turns;
  message["single"] = plan.single;
  message["scatter"] = plan.scatter;
  const json answer = impl_->ask(message);
  Timed timed{{}, {}, answer.value("refused", ""), answer.value("failed", "")};
  if (!answer.contains("metrics")) return timed;
  timed.selection = answer.at("selection").get<std::map<std::string, std::string>>();
  for (const auto& [metric, samples] : answer.at("metrics").items()) {
    timed.metrics[metric] = sample_set_from_json(samples);
  }
  return timed;
}

SentinelTime JudgeClient::sentinel() {
  const json answer = impl_->ask({{"do", "sentinel"}});
  if (answer.contains("failed")) return {.failed = answer.at("failed")};
  return {summarize("sentinel", sample_set_from_json(answer.at("sentinel")), "").p50_us};
}

double JudgeClient::seconds_spent() { return 1e-6 * impl_->ask({{"do", "spent"}}).at("us").get<double>(); }

std::vector<LoadedLibrary> JudgeClient::libraries() {
  std::vector<LoadedLibrary> found;
  const json answer = impl_->ask({{"do", "libraries"}});
  for (const json& library : answer.at("libraries")) {
    found.push_back({.path = library.at("path"),
                     .version = library.at("version"),
                     .build_id = library.at("build_id"),
                     .modules = library.at("modules")});
  }
  return found;
}

}  // namespace assay
