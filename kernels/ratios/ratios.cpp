// kernel_ratios: how close our kernels come to what the machine can do. Two kinds of ratio, higher is better:
//   against a library   time of the library's kernel / time of ours, on the same call
//   against the copy    (bytes of all the call's tensors, each once / time) / (bytes read and written by a copy / time)
//
// Method. Clocks, neighbours and thermal state drift, so nothing is compared across time: a case is measured in rounds,
// and in every round each contestant is timed once, in an order that alternates. A contestant rests until the idle
// threads of the other's runtime have stopped spinning, warms up with one untimed launch, and then runs long enough to
// be timed (kLeastSeconds). The ratio is formed within a round; printed are the median and the range of all rounds.
// Planning (prepare) is not timed. Everyone may use the same number of threads. The copy is done twice, by streaming
// stores and by memcpy, between buffers of half the call's bytes each, and the one whose median is faster is the
// ceiling. Bytes that a kernel moves without need (rereading, fetching lines that it overwrites) count against it.
// Modules are reached through the C interface alone, and whether results are right is the gate's business, not ours.
//
// To add a case: one line in kCases. `--filter` takes a part of a case's id.
#include <omp.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

#include "copy.h"
#include "core/error.h"
#include "subject.h"

namespace {

using assay::ratios::Subject;

struct RatioCase {
  const char* kernel;  // "op/kernel"
  const char* rival;   // kernel of the same op; null: the copy
  const char* fields;
  double target;  // what we ask of ourselves; 0: nothing
};

// Products: squares, then shapes of transformer layers (BERT base, Llama 3.1 8B) and of decoding. The rest lies far
// above the second-level cache: rows of hidden states, of attention scores (Whisper) and of feed-forward layers.
constexpr RatioCase kCases[] = {
    {"gemm/simd", "openblas", "m=512,n=512,k=512,dtype=f32", 0},
    {"gemm/simd", "openblas", "m=1024,n=1024,k=1024,dtype=f32", 0.7},
    {"gemm/simd", "openblas", "m=2048,n=2048,k=2048,dtype=f32", 0},
    {"gemm/simd", "openblas", "m=1024,n=1024,k=1024,tb=t,dtype=f32", 0},
    {"gemm/simd", "openblas", "m=1024,n=1024,k=1024,ta=t,dtype=f32", 0},
    {"gemm/simd", "openblas", "m=1024,n=1024,k=1024,dtype=f64", 0},
    {"gemm/simd", "openblas", "m=384,n=3072,k=768,tb=t,dtype=f32", 0},
    {"gemm/simd", "openblas", "m=509,n=768,k=3072,tb=t,dtype=f32", 0},
    {"gemm/simd", "openblas", "m=197,n=1024,k=4096,dtype=f32", 0},
    {"gemm/simd", "openblas", "m=1,n=4096,k=4096,dtype=f32", 0},
    {"gemm/simd", "openblas", "m=8,n=14336,k=4096,tb=t,dtype=f32", 0},
    {"gemm/simd", "openblas", "m=16,n=4096,k=14336,dtype=f32", 0},
    {"gemm/simd", "openblas", "batch=96,m=128,n=128,k=64,tb=t,dtype=f32", 0},
    {"gemm/simd", "onednn_bf16", "m=1024,n=1024,k=1024,dtype=bf16", 0},
    {"gemm/simd", "onednn_f16", "m=1024,n=1024,k=1024,dtype=f16", 0},
    {"gemm_int8/simd", "onednn", "m=1024,n=1024,k=1024,dtype=i8", 0},
    {"gemm_int8/simd", "onednn", "m=8,n=4096,k=4096,tb=t,scales=channel,dtype=i8", 0},
    {"softmax/simd", nullptr, "rows=8192,cols=4096,dtype=f32", 0.8},
    {"softmax/simd", nullptr, "rows=24000,cols=1500,dtype=f32", 0.8},
    {"softmax/simd", nullptr, "rows=16384,cols=4096,dtype=bf16", 0.8},
    {"layernorm_residual/simd", nullptr, "rows=8192,cols=4096,dtype=f32", 0.8},
    {"layernorm_residual/simd", nullptr, "rows=49152,cols=768,dtype=f32", 0.8},
    {"layernorm_residual/simd", nullptr, "rows=16384,cols=4096,dtype=bf16", 0.8},
    {"reduce/simd", nullptr, "kind=sum,outer=8192,n=4096,inner=1,dtype=f32", 0.8},
    {"reduce/simd", nullptr, "kind=sum,outer=1,n=8192,inner=4096,dtype=f32", 0.8},
    {"reduce/simd", nullptr, "kind=max,outer=16384,n=4096,inner=1,dtype=bf16", 0.8},
    {"bias_gelu/simd", nullptr, "rows=12288,cols=3072,form=tanh,dtype=f32", 0.8},
    {"bias_gelu/simd", nullptr, "rows=12288,cols=3072,form=erf,dtype=f32", 0.8},
    {"bias_gelu/simd", nullptr, "rows=16384,cols=4096,form=tanh,dtype=bf16", 0.8},
};

struct Options {
  std::string filter;
  std::filesystem::path modules;
  int threads = 1;
  int rounds = 11;
};

struct Contestant {
  std::string name;
  std::function<void()> run;
  double seconds_of_work = 0;  // one run, roughly; found while warming up
  std::vector<double> seconds{};
};

constexpr double kLeastSeconds = 0.03;
constexpr auto kRest = std::chrono::milliseconds(40);

double seconds_of(const std::function<void()>& run, int64_t times) {
  const auto start = std::chrono::steady_clock::now();
  for (int64_t i = 0; i < times; ++i) run();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void time_once(Contestant& c) {
  std::this_thread::sleep_for(kRest);
  c.seconds_of_work = seconds_of(c.run, 1);
  const auto times = static_cast<int64_t>(std::clamp(kLeastSeconds / std::max(c.seconds_of_work, 1e-7), 1.0, 1e5));
  c.seconds.push_back(seconds_of(c.run, times) / static_cast<double>(times));
}

void race(std::vector<Contestant>& contestants, int rounds) {
  for (Contestant& c : contestants) c.run();
  for (int round = 0; round < rounds; ++round) {
    for (size_t i = 0; i < contestants.size(); ++i) {
      time_once(contestants[round % 2 == 0 ? i : contestants.size() - 1 - i]);
    }
  }
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return (values[(values.size() - 1) / 2] + values[values.size() / 2]) / 2;
}

// Round by round: work of ours per second over work of theirs.
std::vector<double> ratios_of(const Contestant& ours, const Contestant& theirs, double work_ratio) {
  std::vector<double> ratios(ours.seconds.size());
  for (size_t i = 0; i < ratios.size(); ++i) ratios[i] = work_ratio * theirs.seconds[i] / ours.seconds[i];
  return ratios;
}

void print_row(const std::string& id, const Contestant& theirs, const std::vector<double>& ratios, double target,
               const std::string& speeds) {
  const auto [least, most] = std::minmax_element(ratios.begin(), ratios.end());
  const double middle = median(ratios);
  std::printf("%-66s %-11s %6.3f  %5.3f..%5.3f  %s", id.c_str(), theirs.name.c_str(), middle, *least, *most,
              speeds.c_str());
  if (target > 0) std::printf("  %s %.2f", middle >= target ? "meets" : "BELOW", target);
  std::printf("\n");
  std::fflush(stdout);
}

std::string speeds(double ours, double theirs, const char* unit) {
  char text[64];
  std::snprintf(text, sizeof text, "%7.1f / %7.1f %s", ours, theirs, unit);
  return text;
}

double operations(const assay::Case& c) {
  const double batch = c.has("batch") ? c.real("batch") : 1;
  return 2 * batch * c.real("m") * c.real("n") * c.real("k");
}

void against_library(const RatioCase& wanted, Subject& ours, Subject& theirs, int rounds) {
  std::vector<Contestant> both{{"simd", [&] { ours.launch(); }}, {wanted.rival, [&] { theirs.launch(); }}};
  race(both, rounds);
  const double work = operations(ours.test_case()) * 1e-9;
  print_row(ours.id(), both[1], ratios_of(both[0], both[1], 1), wanted.target,
            speeds(work / median(both[0].seconds), work / median(both[1].seconds), "Gop/s"));
}

void against_copy(const RatioCase& wanted, Subject& ours, const Options& options) {
  assay::ratios::CopyBuffers copy(ours.bytes() / 2, options.threads);
  std::vector<Contestant> all{{"simd", [&] { ours.launch(); }},
                              {"copy stream", [&] { copy.stream(); }},
                              {"copy memcpy", [&] { copy.plain(); }}};
  race(all, options.rounds);
  const Contestant& ceiling = median(all[1].seconds) <= median(all[2].seconds) ? all[1] : all[2];
  const double bytes = static_cast<double>(ours.bytes()), copied = static_cast<double>(copy.bytes_moved());
  print_row(ours.id(), ceiling, ratios_of(all[0], ceiling, bytes / copied), wanted.target,
            speeds(bytes * 1e-9 / median(all[0].seconds), copied * 1e-9 / median(ceiling.seconds), "GB/s"));
}

void run_case(const RatioCase& wanted, const std::string& id, const Options& options, const assay::OpRegistry& ops) {
  try {
    Subject ours(ops, options.modules, id, options.threads);
    if (wanted.rival == nullptr) {
      against_copy(wanted, ours, options);
    } else {
      const std::string op = ours.test_case().op();
      Subject theirs(ops, options.modules, op + "/" + wanted.rival + ":" + wanted.fields, options.threads);
      against_library(wanted, ours, theirs, options.rounds);
    }
  } catch (const assay::Error& e) {
    std::printf("%-66s skipped: %s\n", id.c_str(), e.what());
  }
}

Options parse(int argc, char** argv) {
  Options options;
  options.threads = omp_get_num_procs();
  options.modules = std::filesystem::read_symlink("/proc/self/exe").parent_path() / "../../modules";
  CLI::App app{"Ratios of our kernels to libraries and to the copy bandwidth"};
  app.add_option("--filter", options.filter, "only cases whose id contains this");
  app.add_option("--modules", options.modules, "folder of the kernel modules")->check(CLI::ExistingDirectory);
  app.add_option("--threads", options.threads, "threads a kernel may use")->check(CLI::Range(1, 1024));
  app.add_option("--rounds", options.rounds, "rounds a case")->check(CLI::Range(1, 1000));
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    std::exit(app.exit(e) == 0 ? 0 : 4);
  }
  return options;
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse(argc, argv);
  const assay::OpRegistry ops = assay::make_op_registry();
  std::printf("%d threads, %d rounds; ratio: median and range; speeds: ours / theirs\n", options.threads,
              options.rounds);
  int selected = 0;
  for (const RatioCase& wanted : kCases) {
    const std::string id = std::string(wanted.kernel) + ":" + wanted.fields;
    if (id.find(options.filter) == std::string::npos) continue;
    ++selected;
    run_case(wanted, id, options, ops);
  }
  if (selected > 0) return 0;
  std::cerr << "kernel_ratios: --filter '" << options.filter << "' matches no case\n";
  return 4;
}
