// Memory of this process's own for the code and constants of the libraries that it has loaded.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <utility>

namespace assay {

// Processes share the pages of a file, where those happened to come to lie when it was first read, and how that suits
// the caches can make a kernel slower or faster by some per cent (Mytkowicz et al., "Producing Wrong Data Without Doing
// Anything Obviously Wrong!", 2009, on layout; Curtsinger and Berger, "Stabilizer", 2013, on drawing it anew). The
// modules of two arms are two files: all processes of one would share what chance gave it once, and blocks, however
// many, would tell the arms apart. Pages of each process's own make of it chance in every process.
class OwnPages {
 public:
  // Of each library (a file with code that is mapped), what only it reads is copied. What is copied already stays, so
  // that this may be asked again when more may have been loaded. Bytes and addresses stay as they are. Throws NotGiven
  // where the system does not let it, each time.
  void take();

 private:
  std::set<std::pair<uint64_t, std::string>> taken_;  // where mappings begin, and their files
};

}  // namespace assay
