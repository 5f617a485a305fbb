// The pin of a platform, ci/pins/PLATFORM.toml: the exact driver, firmware, compilers and libraries that latency,
// observed goldens and canaries are judged with there. Written by `assay env pin`, reviewed, never edited by hand.
//
//   layout = 1
//   [platform]                        what a machine is found by, and no part of what is pinned
//   device = "cpu"                    or "cuda"
//   processor = "sse4_2 avx ..."      its instruction sets, or the GPU's model
//   threads = 2                       of a cpu alone
//   [facts]                           each of pinned_facts(), as `assay env` tells it
//   "cpu.microcode" = "0x1000065"
//   [[library]]                       each that a process which loads kernels of the device maps
//   file = "libm.so.6"                without its folder, which differs from checkout to checkout
//   version = "6"                     that in its name, as in run.json; "unknown" where it has none
//   build_id = "d6e6f9..."            the GNU build-id, "code-" and a hash of the code (load/elf.h), or "unknown"
//   late = false                      true: loaded by a launch, not with the kernels' modules
//   package = "deb libc6 2.36-9"      what installed it, gate/package.h
//   package_sha256 = "ba4f88..."
//   sha256 = "51c0a7..."              of the file
//
// Facts, versions, build-ids and files' checksums are compared; package and its checksum say where that very file is to
// be had.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "measure/environment.h"

namespace assay {

inline constexpr uint64_t kPinLayout = 1;

struct PinPlatform {
  std::string device = "cpu";
  std::string processor;  // the fact isa_fact(device)
  int threads = 1;        // given to kernels; of no meaning on a GPU

  // The file's name without ".toml", such as "avx512-t2-0a1b2c3d" or "NVIDIA_H200".
  std::string name() const;
};

struct PinnedLibrary {
  std::string file, version, build_id;
  bool late = false;
  std::string package, package_sha256, sha256;

  bool operator==(const PinnedLibrary&) const = default;
};

struct Pin {
  PinPlatform platform;
  Facts facts;
  std::vector<PinnedLibrary> libraries;
};

struct PinnedFact {
  std::string_view name;
  std::string_view remedy;  // for a machine that has another: what to do
};
std::span<const PinnedFact> pinned_facts(std::string_view device);

// Throws UsageError that names file, key and remedy for anything that print_pin would not have written, and for the pin
// of another platform than the file's name says.
Pin read_pin(const std::filesystem::path& file);
// That of `platform` in a tree's ci/pins; none where there is no such file. Throws as read_pin().
std::optional<Pin> find_pin(const std::filesystem::path& pins, const PinPlatform& platform);

// The file's text. Throws UsageError for a pin that would not be read back.
std::string print_pin(const Pin& pin);

}  // namespace assay
