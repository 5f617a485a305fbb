#include "worker/own_pages.h"

#include <sys/mman.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/error.h"

namespace assay {
namespace {

struct Mapping {
  uint64_t begin = 0, end = 0;
  std::string permissions{}, file{};

  bool is_code() const { return permissions == "r-xp"; }
  bool is_only_read() const { return permissions == "r--p" || is_code(); }
};

// Those of files, from lines such as
// 7f12a000-7f12b000 r-xp 00001000 fe:00 1234    /usr/lib/libfmt.so.9
std::vector<Mapping> mappings() {
  std::vector<Mapping> found;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    const size_t path = line.find('/'), blank = line.find(' ');
    if (path == std::string::npos) continue;
    Mapping mapping{.permissions = line.substr(blank + 1, 4), .file = line.substr(path)};
    const auto [dash, unused] = std::from_chars(line.data(), line.data() + blank, mapping.begin, 16);
    std::from_chars(dash + 1, line.data() + blank, mapping.end, 16);
    found.push_back(std::move(mapping));
  }
  return found;
}

// A page of a private mapping is copied when it is written to, or about to be.
void copy(const Mapping& mapping) {
  void* const begin = reinterpret_cast<void*>(mapping.begin);
  const size_t bytes = mapping.end - mapping.begin;
  const int protection = mapping.is_code() ? PROT_READ | PROT_EXEC : PROT_READ;
  const bool is_copied =
      ::mprotect(begin, bytes, protection | PROT_WRITE) == 0 && ::madvise(begin, bytes, MADV_POPULATE_WRITE) == 0;
  int error = is_copied ? 0 : errno;
  if (::mprotect(begin, bytes, protection) != 0 && error == 0) error = errno;
  if (error == 0) return;
  throw NotGiven(
      mapping.file + ": this process gets no pages of its own of it: " + std::strerror(error) +
      "; its latencies would be those of where the file lies. It takes Linux 5.14 or later, and no rule that "
      "keeps a process from writing to its own code");
}

}  // namespace

void OwnPages::take() {
  const std::vector<Mapping> all = mappings();
  std::set<std::string> libraries;
  for (const Mapping& mapping : all) {
    if (mapping.is_code()) libraries.insert(mapping.file);
  }
  for (const Mapping& mapping : all) {
    if (!mapping.is_only_read() || !libraries.contains(mapping.file)) continue;
    const std::pair place{mapping.begin, mapping.file};
    if (taken_.contains(place)) continue;
    copy(mapping);
    taken_.insert(place);  // only now: what was refused once is asked again, and not taken for done
  }
}

}  // namespace assay
