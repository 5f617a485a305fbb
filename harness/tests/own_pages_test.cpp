// Memory of a timing worker's own for what it has loaded.
#include "worker/own_pages.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string>

#include "code_rule.h"
#include "core/error.h"

namespace assay {
namespace {

// KiB of the mappings of libraries that are only read, and how many of them are this process's own.
struct Kept {
  int64_t code = 0, constants = 0, own = 0;
};

Kept of_libraries() {
  Kept kept;
  std::ifstream smaps("/proc/self/smaps");
  int64_t* size = nullptr;
  for (std::string line; std::getline(smaps, line);) {
    const size_t blank = line.find(' ');
    if (line.substr(0, blank).find('-') != std::string::npos) {
      const std::string permissions = line.substr(blank + 1, 4);
      const bool is_of_library = line.find('/') != std::string::npos && line.find(".so") != std::string::npos;
      size = !is_of_library          ? nullptr
             : permissions == "r-xp" ? &kept.code
             : permissions == "r--p" ? &kept.constants
                                     : nullptr;
    } else if (size != nullptr) {
      if (line.starts_with("Size:")) *size += std::strtoll(line.c_str() + 5, nullptr, 10);
      if (line.starts_with("Anonymous:")) kept.own += std::strtoll(line.c_str() + 10, nullptr, 10);
    }
  }
  return kept;
}

TEST(OwnPages, AreOfAllThatLibrariesOnlyRead) {
  volatile double x = 0.5;
  const double cosine = std::cos(x);
  const Kept before = of_libraries();
  ASSERT_GT(before.code, 1000);
  ASSERT_GT(before.constants, 1000);
  EXPECT_LT(2 * before.own, before.code) << "nothing shared is left to be copied";
  OwnPages pages;
  for (int times = 0; times < 2; ++times) {
    pages.take();
    const Kept after = of_libraries();
    EXPECT_EQ(after.code, before.code) << "with other permissions than before";
    EXPECT_EQ(after.constants, before.constants);
    EXPECT_EQ(after.own, after.code + after.constants);
  }
  EXPECT_EQ(std::cos(x), cosine);
}

TEST(OwnPages, WhereAProcessMayNotWriteToItsCodeThatIsSaid) {
  if (!has_code_rule()) GTEST_SKIP() << "this system has no rule that code is never written to (Linux 6.3)";
  const auto refused = [] {
    refuse_to_write_code();
    OwnPages pages;
    int times = 0;
    for (int i = 0; i < 3; ++i) {
      try {
        pages.take();
      } catch (const NotGiven& e) {
        std::cerr << e.what();
        ++times;
      }
    }
    std::_Exit(times);
  };
  EXPECT_EXIT(refused(), ::testing::ExitedWithCode(3), "this process gets no pages of its own of it: ");
}

}  // namespace
}  // namespace assay
