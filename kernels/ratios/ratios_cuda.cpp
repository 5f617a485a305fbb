// cuda_ratios: how close our CUDA kernels come to what the machine can do. Higher is better:
//   against the copy    (bytes of all the call's tensors, each once / time) / (bytes read and written by a copy / time)
//   against a library   time of the library's kernel / time of ours, on the same call
//
// Method. A case is measured in rounds; in a round each contestant is timed once by CUDA events around one launch,
// after a read of twice the level-2 cache has emptied it of their data, and the ratio is formed within the round, so
// that clocks and temperature drift for all alike. Printed are medians and the ratio's range. The copy is done twice,
// by cudaMemcpyAsync and by 16-byte loads and stores, over as many bytes as the call has, and the one whose median is
// faster is the ceiling. Inputs are random. Planning is not timed. --tsv writes what torch_ratios.py puts beside
// PyTorch's times on the same machine.
//
// To add a case: one line in cases_cuda.h.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "cases_cuda.h"
#include "check_cuda.h"
#include "core/error.h"
#include "fill_cuda.cuh"
#include "subject_cuda.h"

namespace {

using namespace assay::ratios;

constexpr uint64_t kAlignment = 64;  // of buffers: the best case, for everyone
constexpr int kWarmUps = 2;

struct Options {
  std::string filter, check, tsv;
  std::filesystem::path modules;
  int rounds = 15;
};

struct Contestant {
  std::function<void()> run;
  std::vector<double> seconds{};
};

class Clock {
 public:
  Clock() {
    require(cudaEventCreate(&begin_), "cudaEventCreate");
    require(cudaEventCreate(&end_), "cudaEventCreate");
    int device = 0, cache = 0;
    require(cudaGetDevice(&device), "cudaGetDevice");
    require(cudaDeviceGetAttribute(&cache, cudaDevAttrL2CacheSize, device), "size of the level-2 cache");
    flushed_ = (2 * static_cast<uint64_t>(cache) + (1 << 20)) / 16 * 16;
    flush_ = device_memory(flushed_ + 16);
    require(cudaMemset(flush_.get(), 1, flushed_ + 16), "cudaMemset");
  }
  double seconds(const std::function<void()>& run) {
    read_through(flush_.get(), flushed_, flush_.get() + flushed_, nullptr);
    require(cudaEventRecord(begin_), "cudaEventRecord");
    run();
    require(cudaEventRecord(end_), "cudaEventRecord");
    require(cudaEventSynchronize(end_), "kernel");
    float milliseconds = 0;
    require(cudaEventElapsedTime(&milliseconds, begin_, end_), "cudaEventElapsedTime");
    return static_cast<double>(milliseconds) * 1e-3;
  }

 private:
  cudaEvent_t begin_ = nullptr, end_ = nullptr;
  uint64_t flushed_ = 0;
  DeviceMemory flush_;
};

void race(Clock& clock, std::vector<Contestant>& contestants, int rounds) {
  for (int round = -kWarmUps; round < rounds; ++round) {
    for (size_t i = 0; i < contestants.size(); ++i) {
      Contestant& c = contestants[round % 2 == 0 ? i : contestants.size() - 1 - i];
      const double seconds = clock.seconds(c.run);
      if (round >= 0) c.seconds.push_back(seconds);
    }
  }
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return (values[(values.size() - 1) / 2] + values[values.size() / 2]) / 2;
}

std::vector<double> ratios_of(const Contestant& ours, const Contestant& theirs) {
  std::vector<double> ratios(ours.seconds.size());
  for (size_t i = 0; i < ratios.size(); ++i) ratios[i] = theirs.seconds[i] / ours.seconds[i];
  return ratios;
}

struct Bench {
  const Options& options;
  const assay::OpRegistry& ops;
  Clock clock{};
  std::ofstream tsv{};
};

void report(Bench& bench, const CudaCase& wanted, const std::string& id, const char* rival, double work,
            const char* unit, const Contestant& ours, const Contestant& theirs) {
  const std::vector<double> ratios = ratios_of(ours, theirs);
  const auto [least, most] = std::minmax_element(ratios.begin(), ratios.end());
  const double time = median(ours.seconds), their_time = median(theirs.seconds), middle = median(ratios);
  std::printf("%-82s %8.3f ms %7.1f %s  %-9s %7.1f  ratio %5.3f (%5.3f..%5.3f)", id.c_str(), time * 1e3, work / time,
              unit, rival, work / their_time, middle, *least, *most);
  if (wanted.target > 0) std::printf("  %s %.2f", middle >= wanted.target ? "meets" : "BELOW", wanted.target);
  std::printf("\n");
  std::fflush(stdout);
  bench.tsv << id << '\t' << time * 1e3 << '\t' << work / time << '\t' << unit << '\t' << rival << '\t'
            << work / their_time << '\t' << middle << '\n';
}

struct Prepared {
  assay::Case test_case;
  std::unique_ptr<CudaSubject> subject;
};

Prepared prepare(const Bench& bench, const std::string& id) {
  const assay::ParsedId parsed = assay::parse_id(id);
  const assay::Op& op = bench.ops.named(parsed.op);
  Prepared p{op.make(parsed.fields), nullptr};
  const assay_kernel& kernel = cuda_kernel(bench.options.modules, parsed.op, parsed.kernel);
  p.subject = std::make_unique<CudaSubject>(op, p.test_case, kernel, kAlignment);
  for (size_t t = 0; t < p.subject->tensors().size(); ++t) {
    if (p.subject->tensors()[t].role == assay::Role::output) continue;
    fill_randomly(p.subject->tensors()[t], p.subject->first_element(t), t + 1);
  }
  require(cudaDeviceSynchronize(), "fill");
  return p;
}

void against_copy(Bench& bench, const CudaCase& wanted, const std::string& id) {
  const Prepared ours = prepare(bench, id);
  const uint64_t half = ours.subject->bytes() / 32 * 16;
  const DeviceMemory from = device_memory(half), to = device_memory(half);
  require(cudaMemset(from.get(), 0x3b, half), "cudaMemset");
  std::vector<Contestant> all{
      {[&] { ours.subject->launch(nullptr); }},
      {[&] { require(cudaMemcpyAsync(to.get(), from.get(), half, cudaMemcpyDeviceToDevice), "copy"); }},
      {[&] { copy_streaming(from.get(), to.get(), half, nullptr); }}};
  race(bench.clock, all, bench.options.rounds);
  const bool by_driver = median(all[1].seconds) <= median(all[2].seconds);
  report(bench, wanted, id, by_driver ? "memcpy" : "copy", 2e-9 * static_cast<double>(half), "GB/s", all[0],
         by_driver ? all[1] : all[2]);
}

double operations(const assay::Case& c) {
  const double batch = c.has("batch") ? c.real("batch") : 1;
  return 2 * batch * c.real("m") * c.real("n") * c.real("k");
}

void against_library(Bench& bench, const CudaCase& wanted, const std::string& id) {
  const Prepared ours = prepare(bench, id);
  const Prepared theirs = prepare(bench, ours.test_case.kernel_id(wanted.rival));
  std::vector<Contestant> both{{[&] { ours.subject->launch(nullptr); }}, {[&] { theirs.subject->launch(nullptr); }}};
  race(bench.clock, both, bench.options.rounds);
  report(bench, wanted, id, wanted.rival, operations(ours.test_case) * 1e-12, "Top/s", both[0], both[1]);
}

void run_case(Bench& bench, const CudaCase& wanted, const std::string& id) {
  try {
    wanted.rival == nullptr ? against_copy(bench, wanted, id) : against_library(bench, wanted, id);
  } catch (const assay::Error& e) {
    std::printf("%-82s skipped: %s\n", id.c_str(), e.what());
  }
}

Options parse(int argc, char** argv) {
  Options options;
  options.modules = std::filesystem::read_symlink("/proc/self/exe").parent_path() / "../../modules";
  CLI::App app{"Ratios of our CUDA kernels to libraries and to the copy bandwidth"};
  app.add_option("--filter", options.filter, "only cases whose id contains this");
  app.add_option("--modules", options.modules, "folder of the kernel modules")->check(CLI::ExistingDirectory);
  app.add_option("--rounds", options.rounds, "rounds a case")->check(CLI::Range(1, 1000));
  app.add_option("--tsv", options.tsv, "file for the table, which torch_ratios.py reads");
  app.add_option("--check", options.check, "instead of timing: check results over this tier's cases")
      ->check(CLI::IsMember({"smoke", "ci", "nightly"}));
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    std::exit(app.exit(e) == 0 ? 0 : 4);
  }
  return options;
}

int check_all(const Options& options, const assay::OpRegistry& ops) {
  std::vector<std::string> seen;
  int failures = 0;
  for (const CudaCase& wanted : kCudaCases) {
    const assay::ParsedId parsed = assay::parse_id(std::string(wanted.kernel) + ":" + wanted.fields);
    if (std::find(seen.begin(), seen.end(), wanted.kernel) != seen.end()) continue;
    seen.emplace_back(wanted.kernel);
    failures += check_kernel(ops.named(parsed.op), parsed.kernel, assay::tier_named(options.check), options.filter,
                             options.modules, static_cast<int>(std::thread::hardware_concurrency()));
  }
  return failures == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const Options options = parse(argc, argv);
    const assay::OpRegistry ops = assay::make_op_registry();
    if (!options.check.empty()) return check_all(options, ops);
    Bench bench{options, ops};
    if (!options.tsv.empty()) bench.tsv.open(options.tsv);
    int selected = 0;
    for (const CudaCase& wanted : kCudaCases) {
      const std::string id = std::string(wanted.kernel) + ":" + wanted.fields;
      if (id.find(options.filter) == std::string::npos) continue;
      ++selected;
      run_case(bench, wanted, id);
    }
    if (selected > 0) return 0;
    std::cerr << "cuda_ratios: --filter '" << options.filter << "' matches no case\n";
  } catch (const std::exception& e) {
    std::fprintf(stderr, "cuda_ratios: %s\n", e.what());
  }
  return 4;
}
