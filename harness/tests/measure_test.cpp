// measure/: quantiles, the sampling loop over a fake launch, cache flushes, the samples file, environment facts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <random>
#include <thread>

#include "core/error.h"
#include "measure/environment.h"
#include "measure/flush.h"
#include "measure/gpu.h"
#include "measure/samples_file.h"
#include "measure/summary.h"
#include "scratch.h"

namespace assay {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::StartsWith;

void spin_us(double us) {
  const int64_t end = now_ns() + static_cast<int64_t>(us * 1e3);
  while (now_ns() < end) {
  }
}

// Expected values: numpy.quantile(sorted([3,1,4,1,5,9,2,6,5,3]), p), method 'linear'.
TEST(Summary, QuantilesAreType7) {
  std::vector<double> x{3, 1, 4, 1, 5, 9, 2, 6, 5, 3};
  std::sort(x.begin(), x.end());
  EXPECT_DOUBLE_EQ(quantile(x, 0.5), 3.5);
  EXPECT_DOUBLE_EQ(quantile(x, 0.9), 6.3);
  EXPECT_DOUBLE_EQ(quantile(x, 0.99), 8.73);
  EXPECT_DOUBLE_EQ(quantile(x, 0.123), 1.107);
  EXPECT_EQ(quantile(x, 0), 1);
  EXPECT_EQ(quantile(x, 1), 9);
  EXPECT_EQ(quantile(std::vector<double>{7}, 0.99), 7);
  EXPECT_TRUE(std::isnan(quantile({}, 0.5)));
}

TEST(Summary, PlantedTailShowsAndNothingIsTrimmed) {
  SampleSet set{.batch = 2, .coarse = true, .quantum_ns = 30};
  for (int i = 0; i < 95; ++i) set.nanoseconds.push_back(20'000);
  for (int i = 0; i < 4; ++i) set.nanoseconds.push_back(22'000);
  set.nanoseconds.push_back(2'000'000);  // one stall
  std::shuffle(set.nanoseconds.begin(), set.nanoseconds.end(), std::mt19937(1));
  const LatencySummary summary = summarize("warm", set, "samples/x.bin");
  EXPECT_EQ(summary.samples, 100);
  EXPECT_DOUBLE_EQ(summary.p50_us, 10);
  EXPECT_DOUBLE_EQ(summary.p90_us, 10);
  EXPECT_NEAR(summary.p99_us, 11 + 0.01 * (1000 - 11), 1e-9);
  EXPECT_DOUBLE_EQ(summary.mean_us, (95 * 10 + 4 * 11 + 1000) / 100.0);
  EXPECT_DOUBLE_EQ(summary.tail_mass, 0.05);
  EXPECT_DOUBLE_EQ(summary.quantum_us, 0.03);
  EXPECT_EQ(summary.batch, 2);
  EXPECT_TRUE(summary.coarse);
  EXPECT_EQ(summary.metric, "warm");
  EXPECT_EQ(summary.samples_file, "samples/x.bin");
  EXPECT_THROW(summarize("warm", SampleSet{}, ""), Error);
  EXPECT_DOUBLE_EQ(tail_mass(std::vector<double>{1, 1, 1.05, 1.06}, 1), 0.25) << "strictly above";
}

TEST(Sampler, CountsOrderAndBeforeEach) {
  // Each sample takes longer than the one before, so that a lost, repeated or reordered sample shows.
  int64_t launches = 0, flushes = 0, launches_at_last_flush = 0;
  bool paired = true;
  SamplerOptions options{.name = "op/k:m=1 cold", .below_50us = 40, .below_500us = 40, .longer = 40};
  options.warm_up_seconds = 0;
  const SampleSet set = sample(
      options, [&] { spin_us(30.0 + 30.0 * static_cast<double>(launches++)); },
      [&] {
        paired = paired && (flushes == 0 || launches == launches_at_last_flush + 1);
        launches_at_last_flush = launches;
        ++flushes;
      });
  EXPECT_EQ(set.nanoseconds.size(), 40u);
  EXPECT_EQ(set.warm_up_launches, 5);
  EXPECT_EQ(launches, 45);
  EXPECT_EQ(flushes, 45);
  EXPECT_TRUE(paired) << "one call before each launch, and only one";
  EXPECT_EQ(set.batch, 1);
  EXPECT_FALSE(set.coarse);
  for (size_t i = 0; i < set.nanoseconds.size(); ++i) {
    EXPECT_GE(set.nanoseconds[i], static_cast<int64_t>(30'000 * (i + 6))) << i;
  }
  EXPECT_GT(set.quantum_ns, 0);
  EXPECT_GE(set.empty_pair_ns, 0);
}

TEST(Sampler, BeforeEachIsOutsideTheInterval) {
  SamplerOptions options{.name = "op/k:m=1 cold", .below_50us = 20, .below_500us = 20, .longer = 20};
  const SampleSet set = sample(
      options, [] { spin_us(20); }, [] { spin_us(2000); });
  EXPECT_LT(*std::min_element(set.nanoseconds.begin(), set.nanoseconds.end()), 2'000'000);
}

TEST(Sampler, ShortLaunchesAreBatchedUnlessCold) {
  int64_t launches = 0;
  SamplerOptions options{.name = "op/k:m=1 warm", .below_50us = 30};
  const SampleSet warm = sample(options, [&] { ++launches; });
  EXPECT_GT(warm.batch, 1);
  EXPECT_EQ(warm.nanoseconds.size(), 30u);
  EXPECT_EQ(launches, warm.warm_up_launches + 30 * warm.batch);
  EXPECT_FALSE(warm.coarse);

  const SampleSet cold = sample(
      options, [&] { ++launches; }, [] {});
  EXPECT_EQ(cold.batch, 1);
  EXPECT_TRUE(cold.coarse) << "a cold launch too short for the clock must say so";

  options.single = true;
  for (const std::function<void()>& before_each : {std::function<void()>{}, std::function<void()>{[] {}}}) {
    const SampleSet single = sample(
        options, [&] { ++launches; }, before_each);
    EXPECT_EQ(single.batch, 1);
    EXPECT_FALSE(single.coarse) << "whoever asks for single launches knows that they are short";
  }
}

TEST(Sampler, WarmUpLastsAtLeastAsLongAsAsked) {
  int64_t launches = 0;
  SamplerOptions options{.name = "op/k:m=1 warm", .below_50us = 11, .below_500us = 11, .longer = 11};
  options.warm_up_seconds = 0.010;
  const int64_t begin = now_ns();
  const SampleSet set = sample(options, [&] {
    ++launches;
    spin_us(100);
  });
  EXPECT_GE(now_ns() - begin, 10'000'000);
  EXPECT_EQ(launches, set.warm_up_launches + 11 * set.batch);
}

TEST(Sampler, WhatALaunchThrowsComesOut) {
  int64_t launches = 0;
  const auto launch = [&] {
    if (++launches == 12) throw Error("launch: broken");
    spin_us(20);
  };
  SamplerOptions options{.name = "op/k:m=1 warm", .below_50us = 50};
  options.warm_up_seconds = 0;
  EXPECT_THROW(sample(options, launch), Error);
  EXPECT_EQ(launches, 12);
  EXPECT_EQ(sample(options, [] { spin_us(20); }).nanoseconds.size(), 50u) << "the next benchmark starts clean";
}

TEST(Sampler, CountFollowsTheClassAndTheBudget) {
  const SamplerOptions o{.below_50us = 500, .below_500us = 200, .longer = 50, .budget_seconds = 1, .least = 11};
  EXPECT_EQ(sample_count(o, 40e-6, 40e-6), 500);
  EXPECT_EQ(sample_count(o, 60e-6, 60e-6), 200);
  EXPECT_EQ(sample_count(o, 1e-3, 1e-3), 50);
  EXPECT_EQ(sample_count(o, 0.05, 0.05), 20);
  EXPECT_EQ(sample_count(o, 10, 10), 11);
  EXPECT_EQ(sample_count(o, 0.01, 40e-6), 100) << "a slow flush before a short launch counts";
  EXPECT_EQ(sample_count(o, 0, 0), 500);
}

// Of a launch of a millisecond 50 fit in 0.05 s on a good day; on a bad one they take longer, and there are 50 too.
TEST(Sampler, EnoughSamplesMayTakeLonger) {
  const SamplerOptions o{.longer = 64, .budget_seconds = 0.05, .least = 1, .enough = 50, .enough_seconds = 0.2};
  EXPECT_EQ(sample_count(o, 0.8e-3, 0.8e-3), 62);
  EXPECT_EQ(sample_count(o, 1.3e-3, 1.3e-3), 50);
  EXPECT_EQ(sample_count(o, 3.9e-3, 3.9e-3), 50);
  EXPECT_EQ(sample_count(o, 10e-3, 10e-3), 20) << "not enough, as many as fit";
  EXPECT_EQ(sample_count(o, 1, 1), 1);
  SamplerOptions few = o;
  few.longer = 30;
  EXPECT_EQ(sample_count(few, 1.3e-3, 1.3e-3), 30) << "never more than wanted";
}

TEST(Sampler, BatchIsTheSmallestPowerOfTwoThatIsLongEnough) {
  EXPECT_EQ(batch_for(10'000, [](int64_t n) { return 10'000 * n; }), 1);
  EXPECT_EQ(batch_for(10'000, [](int64_t n) { return 9'999 * n; }), 2);
  EXPECT_EQ(batch_for(10'000, [](int64_t n) { return 3 * n; }), 4096);
  int64_t calls = 0;
  // Two interruptions must not end the search early.
  EXPECT_EQ(batch_for(10'000, [&](int64_t n) { return ++calls <= 2 ? 1'000'000 : 100 * n; }), 128);
  EXPECT_GT(batch_for(10'000, [](int64_t) { return 0; }), 1'000'000) << "a launch that takes no time ends, too";
}

TEST(Sampler, ClockQuantumAndEmptyPairOfAFakeClock) {
  int64_t readings = 0;
  // Steps of 100 ns, five readings a step.
  const ClockFacts coarse = measure_clock([&] { return readings++ / 5 * 100; });
  EXPECT_EQ(coarse.quantum_ns, 100);
  EXPECT_EQ(coarse.empty_pair_ns, 0);
  const ClockFacts even = measure_clock([&] { return 25 * readings++; });
  EXPECT_EQ(even.quantum_ns, 25);
  EXPECT_EQ(even.empty_pair_ns, 25);
  EXPECT_EQ(shortest_interval_ns({.quantum_ns = 25}), 10'000);
  EXPECT_EQ(shortest_interval_ns({.quantum_ns = 1000}), 20'000);
}

TEST(Flush, EveryLineOfARangeIsEvictedAndContentStays) {
  alignas(64) static char bytes[64 * 8];
  std::memset(bytes, 7, sizeof bytes);
  const auto lines = [](const char* begin, size_t size) {
    const AddressRange range{begin, size};
    return flush_from_caches({&range, 1});
  };
  EXPECT_EQ(lines(bytes, sizeof bytes), 8u);
  EXPECT_EQ(lines(bytes + 63, 2), 2u) << "a range that crosses a line by one byte";
  EXPECT_EQ(lines(bytes + 1, 63), 1u);
  EXPECT_EQ(lines(bytes, 0), 0u);
  EXPECT_TRUE(std::all_of(std::begin(bytes), std::end(bytes), [](char byte) { return byte == 7; }));
}

SampleSet some_samples() { return {.nanoseconds = {5, 3, int64_t{1} << 60, 0}, .batch = 8}; }

SampleSet samples_with_clocks() {
  SampleSet samples = some_samples();
  samples.sm_mhz = {1980, 0, 1755.5, 1980};
  return samples;
}

std::string samples_content(const SampleSet& samples = some_samples()) {
  Scratch scratch;
  write_samples(scratch.path / "a.bin", "op/k:m=1", "warm", samples);
  std::ifstream in(scratch.path / "a.bin", std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST(SamplesFile, ComesBackInOrder) {
  Scratch scratch;
  const fs::path file = scratch.path / "a.bin";
  write_samples(file, "op/k:m=1", "warm", some_samples());
  const SamplesFile back = read_samples(file);
  EXPECT_EQ(back.label, "op/k:m=1 warm");
  EXPECT_EQ(back.batch, 8);
  EXPECT_EQ(back.nanoseconds, some_samples().nanoseconds);
  EXPECT_FALSE(fs::exists(file.string() + ".part"));
  EXPECT_THAT(message_of([&] { write_samples("/proc/none/a.bin", "op/k:m=1", "warm", some_samples()); }),
              HasSubstr("cannot write /proc/none/a.bin"));
}

TEST(Gpus, AreThoseThatCudaShowsOfAList) {
  using Names = std::vector<std::string>;
  EXPECT_EQ(listed_gpus("1,0"), (Names{"1", "0"}));
  EXPECT_EQ(listed_gpus("GPU-8932f937, MIG-5a1b"), (Names{"GPU-8932f937", "MIG-5a1b"}));
  EXPECT_EQ(listed_gpus("2,-1,3"), Names{"2"}) << "what follows an entry that names none is not visible";
  EXPECT_EQ(listed_gpus("2,,3"), Names{"2"});
  EXPECT_EQ(listed_gpus("-1"), Names{});
  EXPECT_EQ(listed_gpus(""), Names{});
}

TEST(Gpus, AreSharedEvenlyByJobs) {
  const auto shares = [](const std::vector<std::string>& gpus, int jobs) {
    std::map<std::string, int> counts;
    for (int job = 0; job < jobs; ++job) {
      for (const auto& [name, gpu] : gpu_of_job(gpus, job, jobs)) {
        EXPECT_EQ(name, "CUDA_VISIBLE_DEVICES");
        ++counts[gpu];
      }
    }
    return counts;
  };
  using Counts = std::map<std::string, int>;
  EXPECT_EQ(shares({"a", "b", "c"}, 2), (Counts{{"a", 1}, {"b", 1}}));
  EXPECT_EQ(shares({"a", "b", "c"}, 8), (Counts{{"a", 3}, {"b", 3}, {"c", 2}}));
  EXPECT_EQ(shares({"a", "b"}, 1), Counts{}) << "one job sees all, as without jobs";
  EXPECT_EQ(shares({"a"}, 4), Counts{});
  EXPECT_EQ(shares({}, 4), Counts{});
}

TEST(SamplesFile, HoldsAGpusClockOfEachSample) {
  const SamplesFile back = parse_samples(samples_content(samples_with_clocks()), "a.bin");
  EXPECT_EQ(back.nanoseconds, some_samples().nanoseconds);
  EXPECT_EQ(back.sm_mhz, samples_with_clocks().sm_mhz);
  EXPECT_TRUE(parse_samples(samples_content(), "a.bin").sm_mhz.empty());
}

TEST(SamplesFile, NamesAreSafeAndDiffer) {
  const std::string hostile = samples_file_name("op/../../etc/passwd:\n\0<>", "warm");
  EXPECT_EQ(hostile.find_first_not_of("samples/0123456789abcdef.bin"), std::string::npos);
  EXPECT_EQ(hostile.rfind('/'), 7u);
  EXPECT_NE(samples_file_name("op/k:m=1", "warm"), samples_file_name("op/k:m=1", "cold"));
  EXPECT_NE(samples_file_name("op/k:m=1", "warm"), samples_file_name("op/k:m=11", "arm"));
}

TEST(SamplesFile, DamagedFilesAreRefusedByName) {
  const std::string good = samples_content();
  const auto error = [&](std::string content) { return message_of([&] { parse_samples(content, "a.bin"); }); };
  const auto with_u64 = [&](size_t at, uint64_t value) {
    std::string changed = good;
    std::memcpy(changed.data() + at, &value, 8);
    return changed;
  };
  EXPECT_THAT(error(""), HasSubstr("a.bin: too short"));
  EXPECT_THAT(error("X" + good.substr(1)), HasSubstr("not a samples file"));
  EXPECT_THAT(error(good.substr(0, 8) + '\x03' + good.substr(9)), HasSubstr("version 3"));
  EXPECT_THAT(error(good.substr(0, 8) + '\x02' + good.substr(9)), HasSubstr("length"));
  for (size_t cut = 32; cut < good.size(); ++cut) EXPECT_THAT(error(good.substr(0, cut)), HasSubstr("length")) << cut;
  EXPECT_THAT(error(good + "12345678"), HasSubstr("length"));
  EXPECT_THAT(error(with_u64(16, ~0ull)), HasSubstr("length"));
  EXPECT_THAT(error(with_u64(16, (1ull << 61) + 4)), HasSubstr("length")) << "count * 8 would wrap around";
  EXPECT_THAT(error(with_u64(24, 0)), HasSubstr("batch"));
  EXPECT_THAT(error(with_u64(24, ~0ull)), HasSubstr("batch"));
  EXPECT_THAT(error(with_u64(good.size() - 8, ~0ull)), HasSubstr("negative"));
  std::string clocked = samples_content(samples_with_clocks());
  for (const double none : {-1.0, std::nan(""), 1e9}) {
    std::memcpy(clocked.data() + clocked.size() - 8, &none, 8);
    EXPECT_THAT(error(clocked), HasSubstr("a clock that is none"));
  }
  EXPECT_THAT(message_of([&] { read_samples("/nonexistent/a.bin"); }), HasSubstr("cannot be read"));
}

TEST(SamplesFile, RandomDamageIsReadOrRefused) {
  const uint64_t seed = std::random_device{}();
  std::cout << "seed " << seed << "\n";
  std::mt19937_64 bits(seed);
  const std::string good = samples_content(samples_with_clocks());
  for (int i = 0; i < 2000; ++i) {
    std::string damaged = good;
    for (uint64_t n = bits() % 4 + 1; n-- > 0;) damaged[bits() % damaged.size()] = static_cast<char>(bits());
    if (bits() % 4 == 0) damaged.resize(bits() % damaged.size());
    try {
      EXPECT_LE(parse_samples(damaged, "a.bin").nanoseconds.size(), damaged.size() / 8);
    } catch (const UsageError& e) {
      EXPECT_THAT(e.what(), StartsWith("a.bin: "));
    }
  }
}

TEST(Environment, FactsOfAFakeMachine) {
  Scratch scratch;
  const fs::path& root = scratch.path;
  write_text(root / "proc/cpuinfo",
             "processor\t: 0\nmodel\t\t: 7\nmodel name\t: Fake \xFF CPU\nflags\t\t: fpu avx2 fma hypervisor avx512f\n");
  write_text(root / "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "performance\n");
  write_text(root / "sys/devices/system/cpu/cpu1/cpufreq/scaling_governor", "powersave\n");
  write_text(root / "sys/devices/system/cpu/cpuidle/ignored", "");
  write_text(root / "etc/os-release", "NAME=x\nPRETTY_NAME=\"Some Linux 1\"\n");
  const Facts facts = environment_facts(root);
  EXPECT_EQ(facts.at("cpu.model"), "Fake \xEF\xBF\xBD CPU");
  EXPECT_EQ(facts.at("cpu.instruction_sets"), "fma avx2 avx512f");
  EXPECT_EQ(facts.at("cpu.cores"), "2");
  EXPECT_EQ(facts.at("cpu.governor"), "performance, powersave");
  EXPECT_EQ(facts.at("cpu.virtualised"), "yes");
  EXPECT_EQ(facts.at("os.distribution"), "Some Linux 1");
  EXPECT_EQ(facts.at("memory.total"), "unknown");
  EXPECT_EQ(facts.at("cpu.caches"), "unknown");
}

TEST(Environment, WhatCannotBeReadIsUnknown) {
  Scratch scratch;
  const Facts facts = environment_facts(scratch.path);
  EXPECT_EQ(facts.at("cpu.model"), "unknown");
  EXPECT_EQ(facts.at("cpu.governor"), "unknown");
  EXPECT_EQ(facts.at("cpu.virtualised"), "unknown");
  EXPECT_EQ(facts.at("cpu.family_model_stepping"), "unknown");
  for (const auto& [name, value] : facts) EXPECT_FALSE(value.empty()) << name;
  const Telemetry nothing = read_telemetry(scratch.path);
  EXPECT_FALSE(nothing.steal_ticks || nothing.pressure_cpu_us || nothing.throttle_events || nothing.migrations);
  EXPECT_EQ(telemetry_between(nothing, nothing).at("telemetry.steal_percent"), "unknown");
}

TEST(Environment, TelemetryOfAFakeMachine) {
  Scratch scratch;
  const fs::path& root = scratch.path;
  const auto reading = [&](const std::string& stat, int pressure, int throttled) {
    write_text(root / "proc/stat", stat);
    write_text(root / "proc/pressure/cpu",
               "some avg10=1.00 avg60=0 avg300=0 total=" + std::to_string(pressure) + "\nfull avg10=0.00 total=99\n");
    write_text(root / "sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count", std::to_string(throttled));
    write_text(root / "sys/devices/system/cpu/cpu1/thermal_throttle/core_throttle_count", "3");
    write_text(root / "proc/self/sched", "x (1, #threads: 1)\n---\nse.nr_migrations      :    4\n");
    return read_telemetry(root);
  };
  const Telemetry before = reading("cpu  10 0 10 70 0 0 0 10 5 0\ncpu0 1 2\n", 100, 0);
  const Telemetry after = reading("cpu  20 0 20 140 0 0 0 20 5 0\ncpu0 1 2\n", 350, 2);
  const Facts facts = telemetry_between(before, after);
  EXPECT_EQ(facts.at("telemetry.steal_percent"), "10.00");
  EXPECT_EQ(facts.at("telemetry.pressure_cpu_us"), "250");
  EXPECT_EQ(facts.at("telemetry.pressure_io_us"), "unknown");
  EXPECT_EQ(facts.at("telemetry.throttle_events"), "2");
  EXPECT_EQ(facts.at("telemetry.migrations"), "0");
  EXPECT_FALSE(reading("cpu 1 2 x 4 5 6 7 8\n", 0, 0).cpu_ticks.has_value());
}

// What others do on processors that this process may not use neither helps nor hinders it.
TEST(Environment, TicksAreOfTheProcessorsThatThisProcessMayUse) {
  Scratch scratch;
  const std::string all = "cpu  111 0 0 222 0 0 0 33 0 0\n";
  const std::string each =
      "cpu0 1 0 0 2 0 0 0 3 0 0\ncpu1 10 0 0 20 0 0 0 30 0 0\ncpu12 100 0 0 200 0 0 0 0 0 0\nintr 1 2\n";
  const auto reading = [&](const std::string& stat, const std::string& allowed) {
    write_text(scratch.path / "proc/stat", stat);
    write_text(scratch.path / "proc/self/status", "Name:\tx\nCpus_allowed_list:\t" + allowed + "\n");
    const Telemetry t = read_telemetry(scratch.path);
    return std::vector{t.cpu_ticks.value_or(-1), t.idle_ticks.value_or(-1), t.steal_ticks.value_or(-1)};
  };
  EXPECT_EQ(reading(all + each, "1,12"), (std::vector<int64_t>{360, 220, 30}));
  EXPECT_EQ(reading(all + each, "1-12"), (std::vector<int64_t>{360, 220, 30}));
  EXPECT_EQ(reading(all + each, "0"), (std::vector<int64_t>{6, 2, 3}));
  const std::vector<int64_t> of_all{366, 222, 33};
  EXPECT_EQ(reading(all + each, "0-4095"), of_all) << "those that are there";
  for (const char* unreadable : {"", "x", "1-", "1,,x", "-1", "0-99999999", "7"}) {
    EXPECT_EQ(reading(all + each, unreadable), of_all) << unreadable;
  }
  EXPECT_EQ(reading(all + "cpu0 1 2\n", "0"), of_all);
  EXPECT_EQ(reading("cpu", "0"), (std::vector<int64_t>{-1, -1, -1}));
}

TEST(Environment, ThisMachineHasAModelAndCores) {
  const Facts facts = environment_facts();
  EXPECT_NE(facts.at("os.kernel"), "unknown");
  EXPECT_NE(facts.at("cpu.cores"), "unknown");
  EXPECT_TRUE(read_telemetry().cpu_ticks.has_value());
}

}  // namespace
}  // namespace assay
