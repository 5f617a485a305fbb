// Ops, kernels and a judge that need no processes: what the tests of gate/ plan and run with.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "core/error.h"
#include "core/op.h"
#include "gate/coordinator.h"
#include "record/verdict.h"

namespace assay {

// Fields m, n, dtype; cases m x n over 1..3, one seed more a tier. From ci on a device has m=70000, and m=3,n=2 again.
class FakeOp : public Op {
 public:
  explicit FakeOp(std::string name) : name_(std::move(name)) {}
  std::string_view name() const override { return name_; }
  std::string_view summary() const override { return "an op for tests"; }
  int oracle_version() const override { return 1; }
  std::vector<FieldSpec> fields() const override {
    return {{.name = "m", .doc = "rows"},
            {.name = "n", .doc = "columns"},
            {.name = "alpha", .kind = FieldKind::real, .doc = "factor", .fallback = "1"},
            {.name = "dtype", .kind = FieldKind::word, .doc = "type", .choices = {"f32", "bf16"}}};
  }
  std::vector<Case> cases(Tier tier) const override {
    std::vector<Case> cases;
    for (int seed = 1; seed <= 1 + static_cast<int>(tier); ++seed) {
      for (int m = 1; m <= 3; ++m) {
        for (int n = 1; n <= 3; ++n) {
          cases.push_back(make({{"m", std::to_string(m)},
                                {"n", std::to_string(n)},
                                {"dtype", n == 3 ? "bf16" : "f32"},
                                {"seed", std::to_string(seed)}}));
        }
      }
    }
    return cases;
  }
  std::vector<Case> device_cases(Tier tier) const override {
    if (tier == Tier::smoke) return {};
    return {make({{"m", "3"}, {"n", "2"}, {"dtype", "f32"}}), make({{"m", "70000"}, {"n", "1"}, {"dtype", "f32"}})};
  }
  // From ci on a device's m=70000 is large.
  std::vector<TensorSpec> own_tensors(const Case& c) const override {
    const int64_t wide = c.integer("m") == 70000 ? 1000 : 1;
    const std::vector<int64_t> shape{c.integer("m"), c.integer("n") * wide};
    return {{.name = "x", .dtype = DType::f32, .shape = shape, .strides = {shape[1], 1}}};
  }
  std::vector<Reference> oracle(const Case&, std::span<const TensorView>, int) const override { return {}; }
  Bounds bounds(const Case&, const Contract&, const Reference&) const override { return {}; }
  std::string cap_violation(const Contract&) const override { return ""; }

 private:
  std::string name_;
};

inline OpRegistry fake_ops() {
  std::vector<std::unique_ptr<Op>> ops;
  ops.push_back(std::make_unique<FakeOp>("gemm"));
  ops.push_back(std::make_unique<FakeOp>("gemm_int8"));
  ops.push_back(std::make_unique<FakeOp>("softmax"));
  return OpRegistry(std::move(ops));
}

inline KernelInfo fake_kernel(const std::string& op, const std::string& name) {
  KernelInfo kernel;
  kernel.module = op + "_" + name + ".so";
  kernel.module_hash = "00ff";
  kernel.op = op;
  kernel.name = name;
  kernel.target = "cpu";
  kernel.contract.owner = "owner@example.org";
  return kernel;
}

inline std::vector<KernelInfo> fake_kernels() {
  return {fake_kernel("gemm", "simd"), fake_kernel("gemm", "openblas"), fake_kernel("softmax", "simd")};
}

inline std::vector<CheckResult> all_checks_passed() {
  std::vector<CheckResult> checks;
  for (const CheckRow& row : check_table()) checks.push_back(check_result(row.check, Outcome::pass));
  return checks;
}

// What the judges of one run do, and what they were asked. Outlives them.
struct JudgeScript {
  std::mutex mutex;  // of all that follows: judges are asked from several threads
  int at_work = 0, most_at_work = 0;
  int patience_ms = 0;  // that a case waits for company
  std::set<std::string> judged_alone;
  std::map<std::string, std::pair<std::string, std::string>> fails;  // kernel id -> check, detail
  std::map<std::string, std::pair<std::string, std::string>> fails_once;
  std::map<std::string, bool> grows;  // kernel id -> on the device, also without company
  std::map<std::string, int> deaths;  // kernel id -> times it kills the judge
  std::map<std::string, int> deaths_in_sample;
  std::set<std::string> no_latency, wrong_when_timed;
  std::set<std::string> misnamed, refused, internal_errors;
  std::vector<std::string> checked, sampled;
  std::vector<std::string> late_libraries;
  int started = 0;
  std::vector<std::filesystem::path> turned;      // modules, as a judge turned to each, to its first one too
  std::function<void(const KernelInfo&)> before;  // a case is judged; may wait
  int failing_loads = 0;
  std::function<Screened(const Case&)> screen;  // empty: everything passes
  bool rebuilt = false;                         // the modules on disk are others by now
};

class FakeJudge : public Judge {
 public:
  explicit FakeJudge(JudgeScript& script) : script_(&script) {
    const std::lock_guard lock(script.mutex);
    ++script.started;
  }
  std::vector<KernelInfo> load(const std::filesystem::path& module) override {
    const std::lock_guard lock(script_->mutex);
    if (script_->failing_loads-- > 0) throw UsageError("the worker died by SIGKILL");
    std::vector<KernelInfo> kernels;
    for (KernelInfo kernel : fake_kernels()) {
      if (kernel.module != module) continue;
      if (script_->rebuilt) kernel.module_hash = "beef";
      kernels.push_back(kernel);
    }
    loaded_.insert(module);
    return kernels;
  }
  std::vector<LoadedLibrary> libraries() override { return {{"/lib/libm.so.6", "2.36", "abcd"}}; }

  Record check(const KernelInfo& kernel, const Case& c, Company company) override {
    if (std::exchange(module_, kernel.module) != kernel.module) {
      const std::lock_guard lock(script_->mutex);
      script_->turned.push_back(kernel.module);
    }
    if (script_->before) script_->before(kernel);
    begin(c.kernel_id(kernel.name));
    const std::lock_guard lock(script_->mutex);
    --script_->at_work;
    Record record;
    record.kernel_id = c.kernel_id(kernel.name);
    if (!loaded_.contains(kernel.module)) throw Error("no kernel was loaded from " + kernel.module.string());
    script_->checked.push_back(record.kernel_id);
    if (script_->deaths[record.kernel_id]-- > 0) throw JudgeDied("signal 9");
    record.op = kernel.op;
    record.kernel = kernel.name;
    record.checks = all_checks_passed();
    record.late_libraries = script_->late_libraries;
    const auto set = [&](const std::string& check, Outcome outcome, const std::string& detail) {
      for (CheckResult& result : record.checks) {
        if (result.check == check) result = check_result(check, outcome, detail);
      }
    };
    const auto fail = [&](const std::pair<std::string, std::string>& how) {
      set(how.first, Outcome::fail, how.second);
    };
    if (const auto grown = script_->grows.find(record.kernel_id); grown != script_->grows.end()) {
      const bool known = company == Company::none;
      if (!known || grown->second) {
        set("growth", known ? Outcome::fail : Outcome::skipped, std::string(known ? "" : kGrewInCompany) + "6 bytes");
      }
    }
    if (script_->fails.contains(record.kernel_id)) fail(script_->fails[record.kernel_id]);
    if (const auto once = script_->fails_once.extract(record.kernel_id)) fail(once.mapped());
    if (script_->misnamed.contains(record.kernel_id)) record.kernel_id = "gemm/another:m=1,n=1,dtype=f32";
    if (script_->internal_errors.contains(record.kernel_id)) throw Error("oracle.cpp:12: bad_alloc");
    if (script_->refused.contains(record.kernel_id)) {
      record.verdict = Verdict::unsupported;
      record.reason = "needs m <= 2";
    }
    return record;
  }

  std::vector<Screened> screen(const KernelInfo& kernel, std::span<const Case> cases, Verification /*by*/) override {
    std::vector<Screened> all;
    for (const Case& c : cases) {
      const std::string id = c.kernel_id(kernel.name);
      script_->checked.push_back(id);
      if (script_->deaths[id]-- > 0) throw JudgeDied("signal 9");
      all.push_back(script_->screen ? script_->screen(c) : Screened{});
    }
    return all;
  }

  Probed probe(const KernelInfo&, const Case&, const std::string&, bool) override { return {{}, "no probes here", ""}; }

  Contract plan_contract(const KernelInfo& kernel, const Case&) override { return kernel.contract; }

  void sample(const KernelInfo& kernel, const Case& c, const SamplePlan&, Record& record) override {
    const std::string id = c.kernel_id(kernel.name);
    const std::lock_guard lock(script_->mutex);
    EXPECT_EQ(script_->at_work, 0) << id << " is timed while others are judged";
    script_->sampled.push_back(id);
    if (script_->deaths_in_sample[id]-- > 0) throw JudgeDied("signal 11");
    if (script_->wrong_when_timed.contains(id)) {
      for (CheckResult& result : record.checks) {
        if (result.check == "accuracy") result = check_result("accuracy", Outcome::fail, "when it is timed");
      }
      return;
    }
    if (!script_->no_latency.contains(id)) record.latency.push_back({.metric = "warm", .samples = 3, .p50_us = 5});
  }

 private:
  // With several judges, until another is at work too or enough time has passed for one to come.
  void begin(const std::string& id) {
    {
      const std::lock_guard lock(script_->mutex);
      script_->most_at_work = std::max(script_->most_at_work, ++script_->at_work);
    }
    for (int i = 0; i < script_->patience_ms; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      const std::lock_guard lock(script_->mutex);
      if (script_->at_work > 1) return;
    }
    const std::lock_guard lock(script_->mutex);
    script_->judged_alone.insert(id);
  }

  JudgeScript* script_;
  std::set<std::filesystem::path> loaded_;
  std::filesystem::path module_;  // judged last
};

inline Date day(int year, unsigned month, unsigned day) {
  return std::chrono::year(year) / std::chrono::month(month) / std::chrono::day(day);
}

}  // namespace assay
