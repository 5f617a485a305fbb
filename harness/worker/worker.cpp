#include "worker/worker.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "core/error.h"
#include "device/worker_device.h"
#include "load/module.h"
#include "measure/sentinel.h"
#include "record/json.h"
#include "worker/allocations.h"
#include "worker/callers.h"
#include "worker/channel.h"
#include "worker/fault.h"
#include "worker/floating_point.h"
#include "worker/manner.h"
#include "worker/timing.h"
#include "worker/wire.h"

namespace assay {
namespace {

using nlohmann::json;

constexpr int kCallers = 2;  // of a kernel, beside the one whose launch is judged

double microseconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count();
}

double processor_time_us(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) * 1e6 + static_cast<double>(now.tv_nsec) / 1e3;
}

// Processor time of the threads that did not make this object.
class Others {
 public:
  // The order of these two, and of those below, lets nobody who works alone seem to have had company.
  Others() : own_(processor_time_us(CLOCK_THREAD_CPUTIME_ID)), all_(processor_time_us(CLOCK_PROCESS_CPUTIME_ID)) {}
  double microseconds() const {
    const double all = processor_time_us(CLOCK_PROCESS_CPUTIME_ID) - all_;
    return std::max(0.0, all - (processor_time_us(CLOCK_THREAD_CPUTIME_ID) - own_));
  }

 private:
  double own_, all_;
};

// A kernel's state: made once a process, as a program that uses the kernel would.
class Created {
 public:
  Created(const assay_kernel& kernel, assay_device device) : kernel_(&kernel) {
    const char* error = nullptr;
    state_ = kernel.create(device, &error);
    if (state_ == nullptr) unavailable_ = error == nullptr || *error == '\0' ? "no reason given" : error;
  }
  ~Created() {
    if (state_ != nullptr) kernel_->destroy(state_);
  }
  Created(const Created&) = delete;
  Created& operator=(const Created&) = delete;

  const assay_kernel& kernel() const { return *kernel_; }
  void* state() const { return state_; }
  const std::string& unavailable() const { return unavailable_; }  // why it cannot run on this machine; empty: it can

 private:
  const assay_kernel* kernel_;
  void* state_ = nullptr;
  std::string unavailable_;
};

// One plan of a kernel, which outlives it.
class Planned {
 public:
  Planned(const Created& created, json call)
      : kernel_(&created.kernel()), state_(created.state()), call_(std::move(call)) {}
  ~Planned() {
    if (plan_ != nullptr) kernel_->release(state_, plan_);
  }
  Planned(const Planned&) = delete;
  Planned& operator=(const Planned&) = delete;

  const char* prepare(const assay_call& call) { return kernel_->prepare(state_, &call, &plan_); }
  const void* plan() const { return plan_; }
  const assay_kernel& kernel() const { return *kernel_; }
  const json& call() const { return call_; }
  const char* launch(void* stream, void* const* pointers) const { return kernel_->launch(plan_, stream, pointers); }

 private:
  const assay_kernel* kernel_;
  void* state_;
  json call_;
  void* plan_ = nullptr;
};

class Worker {
 public:
  explicit Worker(int socket) : channel_(socket) {}

  void serve() {
    while (true) {
      const json message = channel_.receive();
      json answer;
      try {
        answer = answer_to(message);
      } catch (const DeviceLost& lost) {
        channel_.send({{"fault", {{"device", lost.what()}, {"access", lost.access}}}});
        if (under_a_tool_) std::exit(1);
        ::_exit(1);  // nothing else can be done on the device, and giving back would be refused too
      } catch (const NotGiven& e) {
        answer = {{"not_given", e.what()}};
      } catch (const std::exception& e) {
        answer = {{"error", e.what()}};
      }
      note_left(answer);
      channel_.send(answer);
    }
  }

 private:
  json answer_to(const json& message) {
    const std::string what = message.at("do");
    if (what == "load") return load(message.at("module"));
    if (what == "device") return take_device(message);
    if (what == "block") return take_block(message);
    if (what == "forget") return forget(message);
    if (what == "map") return map(message);
    if (what == "prepare") return prepare(message);
    if (what == "launch") return launch(message);
    if (what == "finish") return finish();
    if (what == "sample") return sample(message);
    if (what == "sentinel") return sentinel();
    throw Error("unknown message '" + what + "'");
  }

  // Whatever was called, and failed or not, the next kernel begins as the first one did. Threads that a kernel has
  // started have a state each, which is its own affair: none of another kernel's work is done there, but where both use
  // one pool of threads, such as libgomp's, it may be.
  void note_left(json& answer) {
    std::string left = state_.changes();
    state_.restore();
    const bool are_faults_lost = take_back_faults();
    if (are_faults_lost && !under_a_tool_) left += (left.empty() ? "" : ", ") + std::string("who handles SIGSEGV");
    if (!left.empty()) answer["left"] = left;
  }

  Module& module(const std::string& file) {
    auto& entry = modules_[file];
    if (entry == nullptr) entry = std::make_unique<Module>(file);
    return *entry;
  }

  json load(const std::string& file) {
    json kernels = json::array();
    for (const assay_kernel* kernel : module(file).kernels()) {
      kernels.push_back({{"op", kernel->op},
                         {"name", kernel->name},
                         {"target", kernel->target},
                         {"contract", to_json(contract_from(kernel->contract))}});
    }
    return {{"kernels", kernels}};
  }

  json take_device(const json& message) {
    const Device device = device_named(message.at("target").get<std::string>());
    under_a_tool_ = message.at("private");
    device_ = under_a_tool_ ? make_private_worker_device(device) : make_worker_device(device);
    const ReservedRange range = device_->reserved();
    report_faults(channel_.socket(), {range.begin, range.end});
    return {{"ok", true}};
  }

  WorkerDevice& device() {
    if (device_ == nullptr) throw Error("the first message must name the device");
    return *device_;
  }

  json take_block(const json& message) {
    const int file = channel_.take_file();
    if (file < 0) throw Error("no file came with the message");
    device().take({message.at("id"), message.at("bytes"), file});
    return {{"ok", true}};
  }

  json forget(const json& message) {
    for (const json& block : message.at("blocks")) device().forget(block);
    return {{"ok", true}};
  }

  json map(const json& message) {
    regions_ = regions_from_json(message.at("regions"));
    pointers_ = device().map(regions_, message.at("fresh") ? Addresses::fresh : Addresses::kept);
    std::vector<MappedBuffer> buffers;
    for (size_t i = 0; i < regions_.size(); ++i) {
      if (pointers_[i] == nullptr) continue;
      const uint64_t begin = reinterpret_cast<uint64_t>(pointers_[i]) + (regions_[i].first - regions_[i].base);
      buffers.push_back({begin, begin + regions_[i].bytes});
    }
    watch_buffers(buffers);
    return {{"ok", true}};
  }

  const Created& created(const assay_kernel& kernel) {
    auto& entry = created_[&kernel];
    if (entry == nullptr) entry = std::make_unique<Created>(kernel, device().id());
    return *entry;
  }

  json prepare(const json& message) {
    const int slot = message.at("slot");
    plans_.erase(slot);
    const std::string op = message.at("op"), name = message.at("kernel");
    const assay_kernel* kernel = module(message.at("module")).find(op, name);
    if (kernel == nullptr) throw Error("no kernel " + op + "/" + name);
    const WireCall call(message.at("call"), device().id());
    const auto start = std::chrono::steady_clock::now();
    const Created& created = this->created(*kernel);
    if (!created.unavailable().empty()) return {{"unavailable", created.unavailable()}};
    auto planned = std::make_unique<Planned>(created, message.at("call"));
    const char* refusal = planned->prepare(call.get());
    const double prepare_us = microseconds_since(start);
    if (refusal != nullptr) return {{"refused", refusal}};
    const assay_workspace workspace = kernel->workspace(planned->plan());
    json answer{{"workspace", {workspace.bytes, workspace.alignment, workspace.init}}, {"prepare_us", prepare_us}};
    if (kernel->plan_contract != nullptr) {
      const assay_contract* contract = kernel->plan_contract(planned->plan());
      if (contract != nullptr) answer["contract"] = to_json(contract_from(*contract));
    }
    json selection = json::object();
    kernel->describe(
        planned->plan(),
        [](void* sink, const char* key, const char* value) {
          (*static_cast<json*>(sink))[key == nullptr ? "" : key] = value == nullptr ? "" : value;
        },
        &selection);
    answer["selection"] = std::move(selection);
    plans_[slot] = std::move(planned);
    return answer;
  }

  const Planned& planned(int slot) const {
    const auto found = plans_.find(slot);
    if (found == plans_.end()) throw Error("slot " + std::to_string(slot) + " holds no plan");
    return *found->second;
  }

  json launch(const json& message) {
    const Planned& plan = planned(message.at("slot"));
    const Manner manner = manner_named(message.at("manner").get<std::string>());
    Allocations before, after;
    double others_us = 0;
    device().bring_in();
    // Between launches other processes take memory, so what a thread of the kernel takes then is not counted either.
    const bool looks = manner == Manner::plain;
    const int64_t in_use = looks ? device().memory_in_use() : 0;
    std::optional<Callers> callers;
    if (manner == Manner::beside_callers) {
      callers.emplace(plan.kernel(), device().id(), plan.call(), regions_, pointers_, kCallers);
    }
    json answer = launch_in(manner, device(), held_, [&](void* stream) {
      before = allocations();
      const Others others;
      const char* error = plan.launch(stream, pointers_.data());
      others_us = others.microseconds();
      after = allocations();
      return error;
    });
    if (callers) {
      callers->end();
      if (!callers->error().empty()) answer = {{"failed", "of another caller at the same time: " + callers->error()}};
      answer["callers_differ"] = callers->differ();
    }
    answer["others_us"] = others_us;
    answer["counted"] = after.counted;
    answer["allocations"] = after.calls - before.calls;
    answer["outstanding"] = after.outstanding;
    answer["device_growth"] = looks ? device().memory_in_use() - in_use : 0;
    return answer;
  }

  json finish() {
    finish_blocked(device(), held_);
    return {{"ok", true}};
  }

  json sample(const json& message) {
    const Planned& plan = planned(message.at("slot"));
    Buffers buffers{.workspace = message.at("workspace")};
    for (const json& range : message.at("ranges")) {
      const auto* base = static_cast<const std::byte*>(pointers_.at(range.at(0)));
      const AddressRange buffer{base + range.at(1).get<int64_t>(), range.at(2).get<size_t>()};
      const auto role = static_cast<Role>(range.at(3).get<int>());
      buffers.all.push_back(buffer);
      if (buffer.bytes > 0 && role != Role::output) buffers.inputs.push_back(buffer);
      if (buffer.bytes > 0 && role != Role::input) buffers.outputs.push_back(buffer);
    }
    for (const json& range : message.at("armed")) {
      const auto* base = static_cast<const std::byte*>(pointers_.at(range.at(0)));
      buffers.armed.push_back({base + range.at(1).get<int64_t>(), range.at(2).get<size_t>()});
    }
    return time_launches(message, device(), process_, buffers, [&] {
      if (const char* error = plan.launch(device().stream(), pointers_.data())) {
        throw Error(std::string("launch: ") + error);
      }
    });
  }

  json sentinel() { return sample_set_to_json(sample_sentinel(device())); }

  Channel channel_;
  const FloatingPointState state_;  // before any kernel's code was loaded
  std::map<std::string, std::unique_ptr<Module>> modules_;
  std::map<const assay_kernel*, std::unique_ptr<Created>> created_;
  std::map<int, std::unique_ptr<Planned>> plans_;
  std::unique_ptr<WorkerDevice> device_;
  bool under_a_tool_ = false;
  std::vector<Region> regions_;
  std::vector<void*> pointers_;       // of regions_
  std::unique_ptr<HeldStream> held_;  // while a blocked launch waits for its end
  OwnProcess process_;
};

}  // namespace

void serve_worker(int socket) {
  Worker worker(socket);
  try {
    worker.serve();
  } catch (const ChannelClosed&) {
    return;  // the judge is done with this worker
  }
}

}  // namespace assay
