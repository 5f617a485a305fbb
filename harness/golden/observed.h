// Observed goldens: golden/observed/PLATFORM/OP.txt, one line a kernel and case with what was approved of it on one
// platform: the bytes it gave, its error statistics by seed, and what it said it chose.
//
//   # assay observed golden, format 1
//   # isa sse4_2 avx fma avx2 avx512f
//   # threads 2
//   # library libopenblas.so.0 1a2b3c...
//   # late gemm/lazy libkernels.so.9 4d5e6f...
//   # unpinned differs from ci/pins/avx2-t2-0a1b2c3d.toml in libm
//   gemm/simd:m=3,... bits=0123456789abcdef select.algorithm=packed workspace=4096 seed.1=0.01,0,0.2,0.001 seed.2=...
//
// `late` is a library that a kernel's processes loaded after its module, at its first launch, say. Nobody knows those
// before a kernel has run, so that they are no part of the platform; what was approved says nothing of a record with
// others among them. `unpinned` marks a file some of whose lines come from a run outside the pinned environment, as
// `golden update --unpinned` writes it, for reviewers. `worst`, of a case that goes through every input (fill=every),
// is the bits of the input with the largest error. `workspace` is in bytes; `kernels`, of a GPU, is
// registers/local/shared of each kernel queued (golden/resources.h). Lines approved before these were kept have none of
// them. A seed's four numbers are misrounded, mean signed ulps, rms q and mean signed q. In texts, a byte outside the
// printable ASCII characters, space, '%' and
// '=' is written %XX.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "golden/file.h"
#include "golden/resources.h"
#include "record/record.h"
#include "record/run_json.h"

namespace assay {

// What the bits of a kernel may depend on: nothing approved on one platform says anything about another. Kernels that
// use the same libraries share a platform.
struct Platform {
  std::string isa;  // what kernels dispatch on: the fact "cpu.instruction_sets" (measure/environment.h), or a GPU model
  int threads = 1;
  std::vector<LoadedLibrary> libraries;  // those whose code computes; their build-ids, else versions, count

  // Folder name: a word for the instruction set, threads, and 8 hexadecimal digits of a hash of all that counts, such
  // as "avx512-t2-0a1b2c3d". The order of libraries and where they lie do not matter.
  std::string key() const;
  std::vector<std::pair<std::string, std::string>> facts() const;
};

// The fact that says what kernels of a target dispatch on (measure/environment.h, measure/gpu.h).
const char* isa_fact(std::string_view target);
// A text as the name of a file or a part of one: what is no letter, digit or hyphen is '_'.
std::string file_word(std::string text);

using KernelPlatforms = std::map<std::string, Platform, std::less<>>;  // by "gemm/simd"

struct Observed {
  std::string bits;         // Record::output_hash
  std::string worst_input;  // Record::worst_input
  std::map<std::string, std::string> selection;
  std::vector<SeedStatistics> seeds;
  Resources resources;

  bool operator==(const Observed&) const = default;
};

// What describe() says that must not change unseen; reasons and lists of candidates are left out.
bool is_selection(std::string_view key);

// What a record has to be approved: its bits, statistics, selection and what its launch takes.
Observed observed_of(const Record& record);

using ObservedLines = std::map<std::string, Observed, std::less<>>;                            // by kernel id
using LateLibraries = std::map<std::string, std::set<std::string, std::less<>>, std::less<>>;  // by "gemm/simd"

struct ObservedFile {
  ObservedLines lines;
  LateLibraries late;  // none without lines of that kernel
};

ObservedFile observed_file_from(const GoldenFile& file, const std::string& name);  // throws UsageError
GoldenFile to_golden_file(const ObservedFile& observed, const Platform& platform);
// Its '#' lines without late libraries and mark: those of Platform::facts().
std::vector<std::pair<std::string, std::string>> platform_facts(const GoldenFile& file);

// The mark `unpinned`: none for an empty `why`, and empty where the file has none.
void mark_unpinned(GoldenFile& file, const std::string& why);
std::string unpinned_mark(const GoldenFile& file);

// Passed or merely changed, with an output.
bool is_approvable(const Record& record);

// By op, from the records that are approvable; a kernel that fails has nothing to approve.
std::map<std::string, ObservedFile> observed_from(std::span<const Record> records);

// What was approved of a record's case on the platform of its run.
struct Approval {
  const Observed* line = nullptr;  // null where nothing was
  std::string new_library;         // a late one that nothing was approved with: the line is of another platform
  const Observed* comparable() const { return new_library.empty() ? line : nullptr; }
  std::string why_not() const;  // empty when comparable
};
using Approvals = std::function<Approval(const Record&)>;

class ObservedGoldens {
 public:
  // Reads every file of folder/KEY of each platform, where there is such a folder. Lines of kernels that are not among
  // `platforms`, or of another platform by now, say nothing. Throws UsageError.
  static ObservedGoldens load(const std::filesystem::path& folder, const KernelPlatforms& platforms);

  Approval find(const Record& record) const;
  size_t size() const { return lines_.size(); }

  // Kernels of which nothing is approved on their platform, but something with other libraries, on the same
  // instruction sets with as many threads, and no library here is another build of one of those: what the kernel
  // computes with was changed, not the machine. By "gemm/simd", those libraries.
  const std::map<std::string, std::string>& approved_with() const { return approved_with_; }

 private:
  void add(const std::filesystem::path& file, const Platform& platform, const KernelPlatforms& platforms);
  void note_others(const std::filesystem::path& file, const KernelPlatforms& platforms);
  ObservedLines lines_;
  LateLibraries late_;
  std::map<std::string, std::string> approved_with_;
};

}  // namespace assay
