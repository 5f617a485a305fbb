#include "measure/environment.h"

#include <sys/resource.h>
#include <sys/utsname.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <set>
#include <string_view>
#include <vector>

#include "core/number_text.h"
#include "measure/flush.h"
#include "record/json_text.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

const std::string kUnknown = "unknown";

// Whole file, empty when it cannot be read. Files of /proc say they are empty, so their size is not asked.
std::string content_of(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return in ? std::string{std::istreambuf_iterator<char>(in), {}} : std::string{};
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n\"";
  const size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

std::string or_unknown(std::string_view text) {
  const std::string_view value = trimmed(text);
  return value.empty() ? kUnknown : valid_utf8(value);
}

// The value of the first line "NAME<blank>SEPARATOR value"; empty when there is none.
std::string_view value_of(std::string_view content, std::string_view name, char separator) {
  while (!content.empty()) {
    const size_t end = std::min(content.find('\n'), content.size() - 1);
    const std::string_view line = content.substr(0, end + 1);
    const size_t at = line.find(separator);
    if (at != std::string_view::npos && trimmed(line.substr(0, at)) == name) return trimmed(line.substr(at + 1));
    content.remove_prefix(end + 1);
  }
  return {};
}

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  for (text = trimmed(text); !text.empty(); text = trimmed(text)) {
    const size_t end = std::min(text.find_first_of(" \t\n"), text.size());
    words.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  return words;
}

std::optional<int64_t> integer_of(std::string_view text) { return number_of<int64_t>(trimmed(text)); }

// cpu0, cpu1, ... in sysfs.
std::vector<fs::path> cpu_folders(const fs::path& root) {
  std::vector<fs::path> folders;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(root / "sys/devices/system/cpu", error)) {
    const std::string name = entry.path().filename();
    if (name.starts_with("cpu") && integer_of(std::string_view(name).substr(3))) folders.push_back(entry.path());
  }
  return folders;
}

// The different contents of one file in every CPU's folder, joined.
std::string across_cpus(const fs::path& root, const char* file) {
  std::set<std::string> values;
  for (const fs::path& cpu : cpu_folders(root)) values.insert(or_unknown(content_of(cpu / file)));
  std::string joined;
  for (const std::string& value : values) joined += (joined.empty() ? "" : ", ") + value;
  return or_unknown(joined);
}

// Those that decide which code a library picks.
constexpr std::array<std::string_view, 16> kInstructionSets{
    "sse4_2",      "avx",         "f16c",        "fma",      "avx2",        "avx512f",  "avx512bw", "avx512vl",
    "avx512_vnni", "avx512_bf16", "avx512_fp16", "avx_vnni", "avx512_vbmi", "amx_tile", "amx_bf16", "amx_int8"};

// Out of the kernel's list of flags.
std::string instruction_sets(std::string_view flags) {
  const std::vector<std::string_view> present = words_of(flags);
  std::string joined;
  for (const std::string_view set : kInstructionSets) {
    if (std::find(present.begin(), present.end(), set) == present.end()) continue;
    joined += (joined.empty() ? "" : " ") + std::string(set);
  }
  return or_unknown(joined);
}

std::string caches(const fs::path& root) {
  std::string joined;
  for (int i = 0; i < 8; ++i) {
    const fs::path cache = root / "sys/devices/system/cpu/cpu0/cache" / ("index" + std::to_string(i));
    const std::string level = content_of(cache / "level");
    if (level.empty()) continue;
    const std::string type(trimmed(content_of(cache / "type")));
    joined += (joined.empty() ? "L" : ", L") + std::string(trimmed(level)) +
              (type == "Data"          ? "d "
               : type == "Instruction" ? "i "
                                       : " ") +
              std::string(trimmed(content_of(cache / "size")));
  }
  return or_unknown(joined);
}

std::optional<int64_t> pressure(const fs::path& root, const char* resource) {
  const std::string content = content_of(root / "proc/pressure" / resource);
  for (const std::string_view word : words_of(std::string_view(content).substr(0, content.find('\n')))) {
    if (word.starts_with("total=")) return integer_of(word.substr(6));
  }
  return std::nullopt;
}

// The CPUs of a list such as "0-1,8"; none where it is not one.
std::set<int64_t> cpus_of(std::string_view list) {
  std::set<int64_t> cpus;
  while (!list.empty()) {
    const std::string_view range = list.substr(0, list.find(','));
    const std::optional<int64_t> first = integer_of(range.substr(0, range.find('-')));
    const std::optional<int64_t> last = integer_of(range.substr(range.find('-') + 1));  // the same without a dash
    if (!first || !last || *last - *first > (1 << 16)) return {};
    for (int64_t cpu = *first; cpu <= *last; ++cpu) cpus.insert(cpu);
    list.remove_prefix(std::min(range.size() + 1, list.size()));
  }
  return cpus;
}

struct Ticks {
  int64_t all = 0, idle = 0, stolen = 0;
};

// A line of /proc/stat: cpu[N] user nice system idle iowait irq softirq steal guest guest_nice; guest time is in user
// time already (Linux, filesystems/proc).
std::optional<Ticks> ticks_in(const std::vector<std::string_view>& line) {
  if (line.size() < 9) return std::nullopt;
  Ticks ticks;
  for (size_t i = 1; i <= 8; ++i) {
    const std::optional<int64_t> value = integer_of(line[i]);
    if (!value) return std::nullopt;
    ticks.all += *value;
    if (i == 4 || i == 5) ticks.idle += *value;
    if (i == 8) ticks.stolen = *value;
  }
  return ticks;
}

// Of the CPUs that this process may use, or of all where that is not known.
std::optional<Ticks> ticks_of(const fs::path& root) {
  const std::set<int64_t> mine = cpus_of(value_of(content_of(root / "proc/self/status"), "Cpus_allowed_list", ':'));
  const std::string stat = content_of(root / "proc/stat");
  std::optional<Ticks> of_all, of_mine;
  for (std::string_view rest = stat; rest.starts_with("cpu");) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    const std::vector<std::string_view> line = words_of(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    const std::optional<Ticks> ticks = ticks_in(line);
    if (line[0] == "cpu") {
      of_all = ticks;
    } else if (const auto cpu = integer_of(line[0].substr(3)); cpu && mine.contains(*cpu)) {
      if (!ticks) return of_all;
      const Ticks sum = of_mine.value_or(Ticks{});
      of_mine = Ticks{sum.all + ticks->all, sum.idle + ticks->idle, sum.stolen + ticks->stolen};
    }
  }
  return of_mine ? of_mine : of_all;
}

std::string text_of(std::optional<int64_t> value) { return value ? std::to_string(*value) : kUnknown; }

std::optional<int64_t> difference(std::optional<int64_t> before, std::optional<int64_t> after) {
  if (!before || !after) return std::nullopt;
  return *after - *before;
}

}  // namespace

bool is_instruction_set(std::string_view name) {
  return std::find(kInstructionSets.begin(), kInstructionSets.end(), name) != kInstructionSets.end();
}

Facts environment_facts(const fs::path& root) {
  const std::string cpu = content_of(root / "proc/cpuinfo");
  const std::string flags(value_of(cpu, "flags", ':'));
  const std::vector<std::string_view> present = words_of(flags);
  const bool virtualised = std::find(present.begin(), present.end(), "hypervisor") != present.end();
  const size_t cores = cpu_folders(root).size();
  utsname system{};
  const bool named = uname(&system) == 0;
  return {
    {"cpu.model", or_unknown(value_of(cpu, "model name", ':'))},
        {"cpu.family_model_stepping",
         or_unknown(std::string(value_of(cpu, "cpu family", ':')) + " " + std::string(value_of(cpu, "model", ':')) +
                    " " + std::string(value_of(cpu, "stepping", ':')))},
        {"cpu.microcode", or_unknown(value_of(cpu, "microcode", ':'))},
        {"cpu.instruction_sets", instruction_sets(flags)}, {"cpu.cores", cores == 0 ? kUnknown : std::to_string(cores)},
        {"cpu.online", or_unknown(content_of(root / "sys/devices/system/cpu/online"))}, {"cpu.caches", caches(root)},
        {"cpu.governor", across_cpus(root, "cpufreq/scaling_governor")},
        {"cpu.max_khz", across_cpus(root, "cpufreq/cpuinfo_max_freq")},
        {"cpu.smt", or_unknown(content_of(root / "sys/devices/system/cpu/smt/control"))},
        {"cpu.virtualised", flags.empty() ? kUnknown
                            : virtualised ? "yes"
                                          : "no"},
        {"cpu.cache_flush", flush_instruction()}, {"os.kernel", named ? or_unknown(system.release) : kUnknown},
        {"os.architecture", named ? or_unknown(system.machine) : kUnknown},
        {"os.distribution", or_unknown(value_of(content_of(root / "etc/os-release"), "PRETTY_NAME", '='))},
        {"memory.total", or_unknown(value_of(content_of(root / "proc/meminfo"), "MemTotal", ':'))},
        {"memory.huge_pages", or_unknown(content_of(root / "sys/kernel/mm/transparent_hugepage/enabled"))},
#if defined(__clang__)
        {"build.compiler", "clang " __clang_version__},
#else
        {"build.compiler", "g++ " __VERSION__},
#endif
#if defined(ASSAY_CUDA_COMPILER)
        {"build.cuda_compiler", ASSAY_CUDA_COMPILER},
#else
        {"build.cuda_compiler", "none"},
#endif
  };
}

Telemetry read_telemetry(const fs::path& root) {
  Telemetry t;
  if (const std::optional<Ticks> ticks = ticks_of(root)) {
    t.cpu_ticks = ticks->all;
    t.idle_ticks = ticks->idle;
    t.steal_ticks = ticks->stolen;
  }
  t.pressure_cpu_us = pressure(root, "cpu");
  t.pressure_memory_us = pressure(root, "memory");
  t.pressure_io_us = pressure(root, "io");
  for (const fs::path& cpu : cpu_folders(root)) {
    const auto events = integer_of(content_of(cpu / "thermal_throttle/core_throttle_count"));
    if (events) t.throttle_events = t.throttle_events.value_or(0) + *events;
  }
  t.migrations = integer_of(value_of(content_of(root / "proc/self/sched"), "se.nr_migrations", ':'));
  rusage own{};
  if (getrusage(RUSAGE_SELF, &own) == 0) {
    t.voluntary_switches = own.ru_nvcsw;
    t.involuntary_switches = own.ru_nivcsw;
    t.own_cpu_us = 0;
    for (const timeval& spent : {own.ru_utime, own.ru_stime}) {
      *t.own_cpu_us += int64_t{spent.tv_sec} * 1'000'000 + spent.tv_usec;
    }
  }
  return t;
}

Facts telemetry_between(const Telemetry& before, const Telemetry& after) {
  const std::optional<int64_t> ticks = difference(before.cpu_ticks, after.cpu_ticks);
  const std::optional<int64_t> steal = difference(before.steal_ticks, after.steal_ticks);
  std::string steal_percent = kUnknown;
  if (ticks && steal && *ticks > 0) {
    char text[32];
    std::snprintf(text, sizeof text, "%.2f", 100.0 * static_cast<double>(*steal) / static_cast<double>(*ticks));
    steal_percent = text;
  }
  return {
      {"telemetry.steal_percent", steal_percent},
      {"telemetry.pressure_cpu_us", text_of(difference(before.pressure_cpu_us, after.pressure_cpu_us))},
      {"telemetry.pressure_memory_us", text_of(difference(before.pressure_memory_us, after.pressure_memory_us))},
      {"telemetry.pressure_io_us", text_of(difference(before.pressure_io_us, after.pressure_io_us))},
      {"telemetry.throttle_events", text_of(difference(before.throttle_events, after.throttle_events))},
      {"telemetry.migrations", text_of(difference(before.migrations, after.migrations))},
      {"telemetry.voluntary_switches", text_of(difference(before.voluntary_switches, after.voluntary_switches))},
      {"telemetry.involuntary_switches", text_of(difference(before.involuntary_switches, after.involuntary_switches))},
  };
}

}  // namespace assay
