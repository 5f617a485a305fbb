#include "worker/judge.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <tuple>
#include <utility>

#include "core/error.h"
#include "load/elf.h"
#include "measure/samples_file.h"
#include "measure/summary.h"
#include "record/json.h"
#include "record/verdict.h"
#include "worker/channel.h"
#include "worker/examination.h"
#include "worker/laboratory.h"
#include "worker/loaded_libraries.h"
#include "worker/process.h"
#include "worker/sanitized.h"
#include "worker/screening.h"
#include "worker/steps.h"
#include "worker/timed_answer.h"
#include "worker/timing.h"
#include "worker/trial.h"

namespace assay {
namespace {

using nlohmann::json;
using Environment = std::vector<std::pair<std::string, std::string>>;

// Both have the same names: which of them it is in is not for a kernel to know.
//
// Correctness workers take turns on few cores: threads that wait must not spin.
Environment correctness_environment() {
  return {{"OMP_WAIT_POLICY", "passive"},
          {"OMP_PROC_BIND", "false"},
          {"OMP_DYNAMIC", "false"},
          {"GOMP_SPINCOUNT", "0"},
          {"OPENBLAS_THREAD_TIMEOUT", "20"}};
}
// What times looks for the next launch's work without sleeping, but not for the 10 ms and more that libgomp and
// OpenBLAS would by themselves: the next process's turn waits for that (worker/timing.cpp). 30000 pauses, 2^20 cycles:
// below 1 ms. libgomp waits by its spin count, whatever the policy. Where it binds threads it binds the first one,
// before main(), and a pool that a library starts from that, such as OpenBLAS's, inherits the one processor: threads
// are placed by worker/own_threads.h.
Environment timing_environment() {
  return {{"OMP_WAIT_POLICY", "passive"},
          {"OMP_PROC_BIND", "false"},
          {"OMP_DYNAMIC", "false"},
          {"GOMP_SPINCOUNT", "30000"},
          {"OPENBLAS_THREAD_TIMEOUT", "20"}};
}

std::string hexadecimal(std::span<const std::byte> bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  text.reserve(2 * bytes.size());
  for (const std::byte byte : bytes) {
    text += kDigits[std::to_integer<unsigned>(byte) >> 4];
    text += kDigits[std::to_integer<unsigned>(byte) & 15];
  }
  return text;
}

class Judge {
 public:
  Judge(const JudgeSettings& settings, const OpRegistry& ops)
      : settings_(settings),
        ops_(ops),
        first_(settings_, correctness_environment()),
        second_(settings_, correctness_environment()),
        timing_(settings_, timing_environment()),
        oracles_(settings_.oracle_cache, build_id_of("/proc/self/exe")) {
    for (Subject* subject : {&first_, &second_, &timing_}) {
      const bool of_one_module = subject != &timing_;
      subject->before_end = [this, of_one_module](pid_t pid) { libraries_.note(pid, of_one_module ? module_ : ""); };
    }
  }

  json answer_to(const json& message) {
    const std::string what = message.at("do");
    if (what == "load") return load(message.at("module"));
    if (what == "check") return check(message);
    if (what == "screen") return screen(message);
    if (what == "plan") return plan(message);
    if (what == "sample") return sample(message);
    if (what == "time" || what == "prepare") return time(message, what == "prepare");
    if (what == "sentinel") return sentinel();
    if (what == "spent") return spent();
    if (what == "probe") return probe(message);
    if (what == "libraries") return libraries();
    throw Error("unknown message '" + what + "'");
  }

 private:
  json load(const std::string& file) {
    const auto [named, is_new] = modules_.try_emplace(std::filesystem::path(file).filename(), file);
    if (!is_new && named->second != file) {
      throw UsageError("module " + file + ": " + named->second +
                       " has the same file name, and libraries are told to be of a module by that; rename one");
    }
    turn_to(file);
    json answer = describe_module(file);
    if (const size_t left = end_processes_left_by({&first_}, {&second_, &timing_}); left > 0) {
      throw UsageError("module " + file + ": loading it leaves " + std::to_string(left) + " processes behind");
    }
    libraries_.note(first_.pid(), module_);
    libraries_.note_brought(file);
    const std::string hash = code_hash_of(file);
    for (json& kernel : answer.at("kernels")) {
      kernel["module"] = file;
      kernel["module_hash"] = hash;
      const KernelInfo info{file,
                            hash,
                            kernel.at("op"),
                            kernel.at("name"),
                            kernel.at("target"),
                            contract_from_json(kernel.at("contract"))};
      kernels_[file + "\n" + info.op + "/" + info.name] = info;
    }
    return answer;
  }

  json describe_module(const std::string& file) {
    for (bool again = false;; again = true) {
      try {
        return first_.ask({{"do", "load"}, {"module", file}});
      } catch (const ProcessLost& lost) {
        // A module does not kill its own process by accident: somebody else did, and it is owed a second look.
        if (is_killed(lost) && !again) continue;
        throw UsageError("module " + file + ": loading it: the worker " + lost.what());
      } catch (const LaunchFailed& refused) {
        throw UsageError(refused.what());
      }
    }
  }

  // One module set a correctness worker: another module gets fresh processes.
  void turn_to(const std::string& file) {
    if (file == module_) return;
    first_.restart();
    second_.restart();
    module_ = file;
  }

  const KernelInfo& kernel(const json& message) {
    const std::string file = message.at("module"), op = message.at("op"), name = message.at("kernel");
    const auto found = kernels_.find(file + "\n" + op + "/" + name);
    if (found == kernels_.end()) throw Error("no kernel " + op + "/" + name + " was loaded from " + file);
    return found->second;
  }

  // Made when first needed: listing kernels needs none.
  Memory& memory() {
    if (memory_ == nullptr) {
      memory_ = make_memory(settings_.sanitizer ? Device::cpu : settings_.device);
      memory_->on_shortage = [this] {
        for (Subject* subject : {&first_, &second_, &timing_}) subject->let_go_of_memory();
      };
    }
    return *memory_;
  }

  // That of the case in hand: a case that is timed after it was checked is filled from what it holds.
  Laboratory& laboratory(const Op& op, const Case& c) {
    memory();  // whose device it may be on
    if (laboratory_ == nullptr || laboratory_case_ != c.id()) {
      laboratory_ = make_laboratory(settings_, oracles_, op, c);
      laboratory_case_ = c.id();
    }
    return *laboratory_;
  }

  json check(const json& message) {
    const KernelInfo& info = kernel(message);
    turn_to(info.module.string());
    const Case c = ops_.parse_case(message.at("case").get<std::string>());
    const Op& op = ops_.named(info.op);
    const Company company = message.at("in_company").get<bool>() ? Company::others : Company::none;
    const Court court{&settings_, &first_, &second_, &timing_, &memory(), &laboratory(op, c), company};
    Record record = settings_.sanitizer ? examine_sanitized(court, correctness_environment(), info, op, c)
                                        : examine(court, info, op, c);
    record.late_libraries = late_libraries();
    checked_ = {info.module.string(), record.kernel_id, record.output_hash};
    return {{"record", to_json(record)}};
  }

  json screen(const json& message) {
    const KernelInfo& info = kernel(message);
    turn_to(info.module.string());
    const Op& op = ops_.named(info.op);
    const auto by = std::ranges::find(kVerifications, message.at("by").get<std::string>());
    if (by == kVerifications.end()) throw Error("no such verification: " + message.at("by").dump());
    json all = json::array();
    for (const json& id : message.at("cases")) {
      const Case c = ops_.parse_case(id.get<std::string>());
      Screened screened;
      try {
        const Court court{&settings_, &first_, &second_, &timing_, &memory(), &laboratory(op, c)};
        screened = screener_.screen(court, info, op, c, Verification(by - kVerifications.begin()));
      } catch (const std::exception& e) {  // costs this case alone
        screened = {.verdict = Verdict::error, .reason = e.what()};
      }
      const bool passed = screened.verdict == Verdict::pass;
      if (!passed) screened.record.late_libraries = late_libraries();  // which takes as long as a small case
      all.push_back({{"refused", screened.refused},
                     {"unverified", screened.unverified},
                     {"verdict", word_of(screened.verdict)},
                     {"reason", screened.reason},
                     {"record", passed ? json() : to_json(screened.record)}});
    }
    return {{"screened", all}};
  }

  // One launch in a correctness worker, judged by nobody.
  json probe(const json& message) {
    const KernelInfo& info = kernel(message);
    turn_to(info.module.string());
    if (message.at("fresh")) first_.restart();
    const Case c = ops_.parse_case(message.at("case").get<std::string>());
    const Op& op = ops_.named(info.op);
    JudgeSettings on_host = settings_;  // what is read below lies in the host's memory
    on_host.elements_on_device = std::numeric_limits<int64_t>::max();
    memory();  // before the laboratory, whose device it may be on
    const auto laboratory = make_laboratory(on_host, oracles_, op, c);
    try {
      Trial trial(first_, memory(), *laboratory, info, op, c, {.threads = settings_.threads});
      if (!trial.refusal().empty()) return {{"refused", trial.refusal()}};
      trial.map();
      trial.fill(static_cast<uint64_t>(c.integer("seed")));
      const Outputs outputs = trial.launch(Poison::first);
      return {{"bytes", hexadecimal(output_named(message.at("output"), trial, outputs))}};
    } catch (const ProcessLost& lost) {
      return {{"failed", std::string("the worker ") + lost.what()}};
    } catch (const LaunchFailed& failed) {
      return {{"failed", failed.what()}};
    } catch (const ContractBroken& broken) {
      return {{"failed", broken.what()}};
    }
  }

  static std::span<const std::byte> output_named(const std::string& name, const Trial& trial, const Outputs& outputs) {
    constexpr size_t kMost = size_t{16} << 20;  // of one message
    size_t position = 0;
    for (const size_t i : trial.outputs()) {
      const TensorSpec& spec = trial.tensors()[i];
      const Content& content = outputs[position++];
      if (spec.name != name) continue;
      if (spec.span_elements() != spec.elements()) throw Error("probe: output '" + name + "' is padded");
      if (content.size() > kMost) throw Error("probe: output '" + name + "' is too large for a message");
      return content.bytes();
    }
    throw Error("probe: '" + name + "' is no output");
  }

  json plan(const json& message) {
    const KernelInfo& info = kernel(message);
    turn_to(info.module.string());
    const Case c = ops_.parse_case(message.at("case").get<std::string>());
    const Op& op = ops_.named(info.op);
    const Trial::Setting setting{.threads = settings_.threads, .offset = c.integer("offset")};
    const Trial trial(first_, memory(), laboratory(op, c), info, op, c, setting);
    if (!trial.refusal().empty()) throw Error("refused: " + trial.refusal());
    return {{"contract", to_json(trial.contract())}};
  }

  // Of a kernel that was judged right, so that what ends here is its failure where it is timed; but a worker that was
  // killed, which no kernel does to itself by accident, is asked once more.
  json sample(const json& message, bool again = true) {
    // What a module left in the process that times must not reach another's launches.
    if (message.at("module") != timed_module_) timing_.restart();
    timed_module_ = message.at("module");
    Record timed;
    try {
      timed = sampled(message);
    } catch (const WrongWhenTimed& wrong) {
      timed.checks.push_back(wrong.result);
    } catch (const ContractBroken& broken) {
      timed.checks.push_back(check_result("contract", Outcome::fail, broken.what()));
    } catch (const LaunchFailed& failed) {
      timed.checks.push_back(check_result("launch", Outcome::fail, std::string("when it is timed: ") + failed.what()));
    } catch (const ProcessLost& lost) {
      if (is_killed(lost) && again) return sample(message, false);
      timed.checks.push_back(lost_at_launch(lost, std::string("when it is timed: the worker ") + lost.what()));
    }
    if (const std::string left = left_behind(); !left.empty()) {
      timed.latency.clear();
      timed.checks.push_back(check_result("growth", Outcome::fail, left));
    }
    return {{"record", to_json(timed)}};
  }

  // Empty where nothing was.
  std::string left_behind() {
    const size_t left = end_processes_left_by({&timing_}, {&first_, &second_});
    return left == 0 ? "" : "left processes behind when it is timed: " + std::to_string(left);
  }

  static bool is_killed(const ProcessLost& lost) { return lost.loss == Loss::signal && lost.code == SIGKILL; }

  Record sampled(const json& message) {
    const KernelInfo& info = kernel(message);
    const Case c = ops_.parse_case(message.at("case").get<std::string>());
    const std::filesystem::path folder = message.at("samples_folder").get<std::string>();
    Trial::Setting setting{.threads = settings_.threads, .offset = c.integer("offset")};
    const Op& op = ops_.named(info.op);
    Trial trial(timing_, memory(), laboratory(op, c), info, op, c, setting);
    if (!trial.refusal().empty()) throw Error("a case that passed is now refused: " + trial.refusal());
    Record timed;
    const json answer = timed_metrics(trial, info, op, c, message, true);
    const auto keep = [&](const char* metric, const SampleSet& samples) {
      const std::string file = samples_file_name(c.kernel_id(info.name), metric);
      write_samples(folder / std::filesystem::path(file).filename(), c.kernel_id(info.name), metric, samples);
      timed.latency.push_back(summarize(metric, samples, file));
    };
    for (const char* metric : {"first_call", "warm", "cold", "dispatch", "allocate_workspace", "copy_in", "copy_out"}) {
      if (answer.contains(metric)) keep(metric, sample_set_from_json(answer.at(metric)));
    }
    SampleSet prepare;
    prepare.nanoseconds = {static_cast<int64_t>(trial.prepare_us() * 1000)};
    keep("prepare", prepare);
    return timed;
  }

  // For the comparison of two arms: nothing is judged, and no module loaded but where it is timed. `only_prepares`
  // makes the plan there, and no more. No kernel kills itself by SIGKILL by accident: it is asked once more then.
  json time(const json& message, bool only_prepares) {
    return asked_of_timing([&] { return timed(message, only_prepares); });
  }

  template <class Ask>
  static json asked_of_timing(const Ask& ask, bool again = true) {
    try {
      return ask();
    } catch (const ProcessLost& lost) {
      if (!is_killed(lost) || !again) return {{"failed", std::string("the worker ") + lost.what()}};
    }
    return asked_of_timing(ask, false);
  }

  json timed(const json& message, bool only_prepares) {
    KernelInfo info;
    info.module = message.at("module").get<std::string>();
    info.op = message.at("op");
    info.name = message.at("kernel");
    info.contract = contract_from_json(message.at("contract"));
    const Case c = ops_.parse_case(message.at("case").get<std::string>());
    const Op& op = ops_.named(info.op);
    const Trial::Setting setting{
        .threads = settings_.threads, .offset = c.integer("offset"), .scatter = message.at("scatter")};
    try {
      Trial trial(timing_, memory(), laboratory(op, c), info, op, c, setting);
      if (!trial.refusal().empty()) return {{"refused", trial.refusal()}};
      if (only_prepares) return json::object();
      json metrics = timed_metrics(trial, info, op, c, message, false);
      SampleSet prepare;
      prepare.nanoseconds = {static_cast<int64_t>(trial.prepare_us() * 1000)};
      metrics["prepare"] = sample_set_to_json(prepare);
      if (const std::string left = left_behind(); !left.empty()) return {{"failed", left}};
      return {{"metrics", metrics}, {"selection", trial.selection()}};
    } catch (const LaunchFailed& failed) {
      return {{"failed", failed.what()}};
    } catch (const ContractBroken& broken) {
      return {{"failed", broken.what()}};
    } catch (const WrongWhenTimed& wrong) {
      return {{"failed", wrong.what()}};
    }
  }

  // The metrics that were asked for, and with `around` those of what a caller pays. Each metric's last launch is looked
  // at: throws WrongWhenTimed.
  json timed_metrics(Trial& trial, const KernelInfo& info, const Op& op, const Case& c, const json& asked,
                     bool around) {
    trial.map();
    trial.fill(static_cast<uint64_t>(c.integer("seed")));
    const std::string id = c.kernel_id(info.name);
    const std::set<std::string> single = asked.value("single", std::set<std::string>{});
    const std::optional<uint64_t> promised = promised_hash(trial, info, c);
    const int64_t of_around = around && has_streams(settings_.device) ? asked.at("cold").get<int64_t>() : 0;
    json metrics = json::object();
    for (const auto& [metric, samples] : {std::pair<std::string, int64_t>{"first_call", 1},
                                          {"warm", asked.at("warm")},
                                          {"cold", asked.at("cold")},
                                          {"around", of_around}}) {
      if (samples == 0) continue;
      Outputs left;
      metrics.update(trial.time({{"label", id},
                                 {"metric", metric},
                                 {"samples", samples},
                                 {"seconds", asked.at("seconds")},
                                 {"enough", asked.value("enough", 0)},
                                 {"enough_seconds", asked.value("enough_seconds", 0.0)},
                                 {"turns", asked.value("turns", 1)},
                                 {"others_follow", asked.contains("turns")},
                                 {"single", single.contains(metric)}},
                                left));
      timed_answers_[info.module.string() + "\n" + id].check(settings_, laboratory(op, c), op, c, trial, left, metric,
                                                             promised);
    }
    return metrics;
  }

  // Of the bytes that a launch of this case must give in another process too: where that is promised, and the case was
  // checked last, with its buffers placed as they are here and all of its parts in one.
  std::optional<uint64_t> promised_hash(const Trial& trial, const KernelInfo& info, const Case& c) const {
    const auto& [module, id, hash] = checked_;
    const bool is_checked = module == info.module.string() && id == c.kernel_id(info.name) && !hash.empty();
    const bool is_alike = c.word("place") != "start" && !is_sweep(trial.tensors());
    if (!is_checked || !is_alike || !trial.contract().promised(ASSAY_SAME_RESTART)) return std::nullopt;
    return std::stoull(hash, nullptr, 16);
  }

  json sentinel() {
    return asked_of_timing([&]() -> json { return {{"sentinel", timing_.ask({{"do", "sentinel"}})}}; });
  }

  // Processor time of this process and of the one that times; those that it has lost are not counted.
  json spent() const { return {{"us", processor_us(::getpid()) + processor_us(timing_.pid())}}; }

  // A module may load what it computes with at its first launch: bits are of that as well.
  std::vector<std::string> late_libraries() {
    for (const Subject* subject : {&first_, &second_}) {
      if (subject->has_answered()) libraries_.note(subject->pid(), module_);
    }
    return libraries_.late(module_);
  }

  json libraries() {
    for (Subject* subject : {&first_, &second_, &timing_}) {
      if (subject->has_answered()) libraries_.note(subject->pid(), subject != &timing_ ? module_ : "");
    }
    json found = json::array();
    for (const LoadedLibrary& library : libraries_.all()) {
      found.push_back({{"path", library.path},
                       {"build_id", library.build_id},
                       {"version", library.version},
                       {"modules", library.modules}});
    }
    return {{"libraries", found}};
  }

  JudgeSettings settings_;
  const OpRegistry& ops_;
  Subject first_, second_, timing_;
  Screener screener_;
  std::unique_ptr<Memory> memory_;
  OracleCache oracles_;
  std::unique_ptr<Laboratory> laboratory_;
  std::string laboratory_case_;
  std::string module_;                          // the correctness workers are for
  std::string timed_module_;                    // of the last sample
  std::map<std::string, std::string> modules_;  // paths by file name
  std::map<std::string, KernelInfo> kernels_;
  std::tuple<std::string, std::string, std::string> checked_;  // last: module, kernel id, hash of the outputs
  std::map<std::string, TimedAnswer> timed_answers_;           // by module and kernel id
  LoadedLibraries libraries_;
};

}  // namespace

void serve_judge(int socket, const OpRegistry& ops) {
  Channel channel(socket);
  std::optional<Judge> judge;
  try {
    while (true) {
      const json message = channel.receive();
      json answer;
      try {
        if (message.at("do") == "settings") {
          judge.emplace(judge_settings_from_json(message), ops);
          answer = {{"ok", true}};
        } else if (!judge) {
          throw Error("the first message must be the settings");
        } else {
          answer = judge->answer_to(message);
        }
      } catch (const UsageError& e) {
        answer = {{"usage", e.what()}};
      } catch (const std::exception& e) {
        answer = {{"error", e.what()}};
      }
      channel.send(answer);
    }
  } catch (const ChannelClosed&) {
    return;  // the coordinator is done
  }
}

}  // namespace assay
