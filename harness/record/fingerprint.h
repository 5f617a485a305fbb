// What a kernel's outputs revealed of how it computes: its fingerprint, one for each dtype and form (core/probe.h has
// the probes, check/fingerprint.h reads them). A run keeps those of its kernels in fingerprints.jsonl.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace assay {

struct Fact {
  std::string name;   // "shape", "kept_bits", ...: fact_table() of check/fingerprint.h
  std::string value;  // empty: not known, and `why` says so
  std::string why{};

  bool operator==(const Fact&) const = default;
};

// Begins why a fact is not known of a probe that a kernel took and failed at.
inline constexpr std::string_view kNoAnswer = "no answer: ";

// How a fingerprint compares with the approved one.
enum class Baseline { none, same, changed };
std::string_view word_of(Baseline baseline);

struct Fingerprint {
  std::string op, kernel, target;
  std::string variant;  // as in an id: "form=erf,dtype=f32"
  std::vector<Fact> facts;
  Baseline baseline = Baseline::none;
  std::vector<std::string> changes{};  // "shape: sequential -> pairwise", of one that changed
  bool complete = true;                // each probe was answered or refused; false: the kernel failed at one
  double seconds = 0;                  // that it took

  std::string id() const { return op + "/" + kernel + ":" + variant; }
  const Fact* find(std::string_view name) const;
  // Of one that is not complete: "the worker died by SIGSEGV (long_sum)".
  std::string failure() const;
};

nlohmann::json to_json(const Fingerprint& fingerprint);
Fingerprint fingerprint_from_json(const nlohmann::json& value);  // throws UsageError that names the key

// Replaces fingerprints.jsonl of a run's folder, all of it or nothing.
void write_fingerprints(const std::filesystem::path& run_folder, const std::vector<Fingerprint>& all);
// None where the run took none. Throws UsageError that names file, line and key.
std::vector<Fingerprint> read_fingerprints(const std::filesystem::path& run_folder);

}  // namespace assay
