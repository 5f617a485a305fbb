// kernel_ratios: how close our kernels come to what the machine can do. Higher is better in each of its tables:
//   libraries  time of the library's kernel / time of ours, on the same call
//   memory     (bytes of all the call's tensors, each once / time) / (bytes read and written by a copy / time), with
//              arrays that lie beyond the last-level cache, so that memory is what both wait for;
//              beside it, the same kernel's speed on arrays that lie in the level-2 caches: near 1 means that the
//              kernel is bound by its arithmetic, which no better use of memory makes faster
//   cache      the ratio to the copy with arrays within the last-level cache: for information, no target
//
// The copy is made by each form in traffic.cpp, in the memory where the kernel's tensors lie and over as many bytes,
// and the form whose median is fastest is the ceiling. Bytes that a kernel moves without need (rereading, fetching
// lines that it overwrites) count against it. An operation whose result is small is put beside reading alone too, which
// a copy may outrun: a processor's outstanding loads are limited, and stores that go around its caches do not take
// their places. How contestants are timed: race.h. Printed are the median and the range of the rounds' ratios. Planning
// (prepare) is not timed. Everyone may use the same number of threads. Modules are reached through the C interface
// alone, and whether results are right is the gate's business, not ours.
#include <omp.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include "arena.h"
#include "cases.h"
#include "core/error.h"
#include "race.h"
#include "sizes.h"
#include "subject.h"
#include "traffic.h"

namespace {

using namespace assay::ratios;

constexpr uint64_t kSlack = uint64_t{1} << 30;  // of an arena: small tensors, workspaces, alignment

struct Options {
  std::string filter, table;
  std::filesystem::path modules;
  int threads = 1;
  int rounds = 5;
};

struct Bench {
  const Options& options;
  const assay::OpRegistry& ops;
  int selected = 0;
};

void print_ratios(const std::string& id, const std::vector<double>& ratios) {
  const auto [least, most] = std::minmax_element(ratios.begin(), ratios.end());
  std::printf("%-68s %6.3f  %5.3f..%5.3f", id.c_str(), median(ratios), *least, *most);
}

void print_end(double ratio, double target) {
  if (target > 0) std::printf("  %s %.2f", ratio >= target ? "meets" : "BELOW", target);
  std::printf("\n");
  std::fflush(stdout);
}

// ---- against a library ----

double operations(const assay::Case& c) {
  const double batch = c.has("batch") ? c.real("batch") : 1;
  return 2 * batch * c.real("m") * c.real("n") * c.real("k");
}

void against_library(const Bench& bench, const LibraryCase& wanted) {
  const Options& o = bench.options;
  const std::string id = std::string(wanted.kernel) + ":" + wanted.fields;
  const std::string op = id.substr(0, id.find('/'));
  const Arena our_memory(kSlack), their_memory(kSlack);
  Subject ours(bench.ops, o.modules, id, o.threads, our_memory);
  Subject theirs(bench.ops, o.modules, op + "/" + wanted.rival + ":" + wanted.fields, o.threads, their_memory);
  std::vector<Contestant> both{{"simd", [&] { ours.launch(); }}, {wanted.rival, [&] { theirs.launch(); }}};
  race(both, o.rounds);
  const std::vector<double> ratios = ratios_of(both[0], both[1], 1);
  const double work = operations(ours.test_case()) * 1e-9;
  print_ratios(id, ratios);
  std::printf("  %7.1f / %7.1f Gop/s  %s", work / median(both[0].seconds), work / median(both[1].seconds),
              wanted.rival);
  print_end(median(ratios), wanted.target);
}

// ---- against the copy ----

// The id with * replaced so that the largest tensor fills `array_bytes`.
std::string filled(const assay::OpRegistry& ops, const TrafficCase& wanted, uint64_t array_bytes) {
  std::string id = std::string(wanted.kernel) + ":" + wanted.fields;
  const size_t star = id.find('*');
  const auto largest = [&](const std::string& count) {
    const assay::ParsedId parsed = assay::parse_id(std::string(id).replace(star, 1, count));
    const assay::Op& op = ops.named(parsed.op);
    uint64_t bytes = 0;
    for (const assay::TensorSpec& t : op.tensors(op.make(parsed.fields))) {
      bytes = std::max<uint64_t>(bytes, t.elements() * size_of(t.dtype));
    }
    return bytes;
  };
  const uint64_t one = largest("1");
  return id.replace(star, 1, std::to_string(std::max<uint64_t>(1, (array_bytes + one - 1) / one)));
}

struct Arrays {
  uint64_t bytes, core_bytes;  // core_bytes: of those that show the kernel's arithmetic alone; 0: none
};

void against_traffic(const Bench& bench, const TrafficCase& wanted, const Arrays& arrays, double target,
                     const Arena& memory) {
  const Options& o = bench.options;
  const Arena core_memory(kSlack);
  Subject ours(bench.ops, o.modules, filled(bench.ops, wanted, arrays.bytes), o.threads, memory);
  std::optional<Subject> in_core;
  if (arrays.core_bytes > 0) {
    in_core.emplace(bench.ops, o.modules, filled(bench.ops, wanted, arrays.core_bytes), o.threads, core_memory);
  }
  std::vector<Contestant> all{{"simd", [&] { ours.launch(); }}};
  const auto enter = [&](const std::vector<Traffic>& forms) {
    for (const Traffic& form : forms) {
      all.push_back({form.name, [&] { form.run(memory.data(), ours.bytes(), o.threads); }});
    }
  };
  enter(copies());
  const size_t copies_end = all.size();
  if (wanted.only_reads) enter(reads());
  const size_t reads_end = all.size();
  if (in_core) all.push_back({"within the level-2 caches", [&] { in_core->launch(); }});
  race(all, o.rounds);

  const double gigabytes = static_cast<double>(ours.bytes()) * 1e-9;
  const auto speed = [&](size_t i) { return gigabytes / median(all[i].seconds); };
  const size_t copy = fastest(all, 1, copies_end);
  const std::vector<double> ratios = ratios_of(all[0], all[copy], 1);
  print_ratios(ours.id(), ratios);
  std::printf("  %5.1f / %5.1f GB/s (%s)", speed(0), speed(copy), all[copy].name.c_str());
  if (wanted.only_reads) {
    const size_t read = fastest(all, copies_end, reads_end);
    std::printf("; %.3f of reading alone, %.1f GB/s", median(ratios_of(all[0], all[read], 1)), speed(read));
  }
  if (in_core) {
    const double work = static_cast<double>(ours.bytes()) / static_cast<double>(in_core->bytes());
    std::printf("; %.3f of its arithmetic, %.1f GB/s", median(ratios_of(all[0], all[reads_end], work)),
                static_cast<double>(in_core->bytes()) * 1e-9 / median(all[reads_end].seconds));
  }
  print_end(median(ratios), target);
}

// ---- tables ----

template <class Case, class Measure>
void table(Bench& bench, const char* name, const std::string& title, const Case& cases, const Measure& measure) {
  const Options& o = bench.options;
  if (!o.table.empty() && o.table != name) return;
  bool titled = false;
  for (const auto& wanted : cases) {
    const std::string id = std::string(wanted.kernel) + ":" + wanted.fields;
    if (id.find(o.filter) == std::string::npos) continue;
    if (!titled) std::printf("\n%s: %s\n", name, title.c_str());
    titled = true;
    ++bench.selected;
    try {
      measure(wanted);
    } catch (const assay::Error& e) {
      std::printf("%-68s skipped: %s\n", id.c_str(), e.what());
    }
  }
}

Options parse(int argc, char** argv) {
  Options options;
  options.threads = omp_get_num_procs();
  options.modules = std::filesystem::read_symlink("/proc/self/exe").parent_path() / "../../modules";
  CLI::App app{"Ratios of our kernels to libraries and to the copy bandwidth"};
  app.add_option("--filter", options.filter, "only cases whose id contains this; * stands for the array size");
  app.add_option("--table", options.table, "only this table")->check(CLI::IsMember({"libraries", "memory", "cache"}));
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

int run(const Options& options) {
  const assay::OpRegistry ops = assay::make_op_registry();
  Bench bench{options, ops};
  const auto cache = last_level_cache_bytes("/");
  const ArraySize beyond = memory_array_size(cache, available_memory_bytes("/")), within = cache_array_size(cache);
  const uint64_t core = core_array_bytes(level_two_cache_bytes("/"), options.threads);
  const Arena memory(kMostArrays * std::max(beyond.bytes, within.bytes) + kSlack);

  std::printf("%d threads, %d rounds; ratio: median and range; speeds: ours / theirs\n", options.threads,
              options.rounds);
  table(bench, "libraries", "time of theirs / time of ours", kLibraryCases,
        [&](const LibraryCase& c) { against_library(bench, c); });
  table(bench, "memory", "bytes a second / those of the copy; " + beyond.justification, kTrafficCases,
        [&](const TrafficCase& c) {
          against_traffic(bench, c, {beyond.bytes, core}, kCopyTarget, memory);
        });
  table(bench, "cache", "for information; " + within.justification, kTrafficCases, [&](const TrafficCase& c) {
    against_traffic(bench, c, {within.bytes, 0}, 0, memory);
  });
  if (bench.selected > 0) return 0;
  std::cerr << "kernel_ratios: --filter '" << options.filter << "' matches no case\n";
  return 4;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(parse(argc, argv));
  } catch (const std::exception& e) {
    std::fprintf(stderr, "kernel_ratios: %s\n", e.what());
  }
  return 4;
}
