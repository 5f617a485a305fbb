// Where a run happened, for run.json, and how disturbed the machine was meanwhile. Facts are texts by dotted names
// ("cpu.model"); what cannot be read here is "unknown", never guessed. To add a fact: one line in environment.cpp.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace assay {

using Facts = std::map<std::string, std::string>;

// CPU model, instruction sets, cores, caches, governor, microcode; kernel, distribution, memory; the compilers this was
// built with. Holds nothing that names the machine. `root` stands in for "/" in tests.
Facts environment_facts(const std::filesystem::path& root = "/");
// Whether the fact "cpu.instruction_sets" names it where a processor has it.
bool is_instruction_set(std::string_view name);

// Counters since boot or since this process started; nullopt where not readable.
struct Telemetry {
  std::optional<int64_t> cpu_ticks, idle_ticks, steal_ticks;        // of the CPUs it may use: /proc/stat
  std::optional<int64_t> own_cpu_us;                                // that this process has used
  std::optional<int64_t> pressure_cpu_us;                           // some task waited for a CPU: /proc/pressure/cpu
  std::optional<int64_t> pressure_memory_us;                        //   ... for memory
  std::optional<int64_t> pressure_io_us;                            //   ... for input or output
  std::optional<int64_t> throttle_events;                           // thermal, of all cores
  std::optional<int64_t> migrations;                                // of the calling thread between CPUs
  std::optional<int64_t> voluntary_switches, involuntary_switches;  // of this process
};
Telemetry read_telemetry(const std::filesystem::path& root = "/");

// What happened between two readings, as facts "telemetry.steal_percent" and so on.
Facts telemetry_between(const Telemetry& before, const Telemetry& after);

}  // namespace assay
