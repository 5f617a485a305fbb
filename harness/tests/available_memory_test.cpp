// device/available_memory: what is left of the machine's memory, read from made-up machines.
#include "device/available_memory.h"

#include <gtest/gtest.h>

#include <string>

#include "scratch.h"

namespace assay {
namespace {

struct Machine {
  void says(const std::string& file, const std::string& text) const { write_text(root / file, text); }
  Scratch scratch;
  const std::filesystem::path& root = scratch.path;
};

TEST(Memory, IsWhatTheMachineHasLeft) {
  const Machine machine;
  EXPECT_EQ(available_memory(machine.root), UINT64_MAX) << "nothing can be read";
  machine.says("proc/meminfo", "MemTotal:       8000 kB\nMemFree:  10 kB\nMemAvailable:   5000 kB\nBuffers: 1 kB\n");
  EXPECT_EQ(available_memory(machine.root), 5000u << 10);
  EXPECT_GT(available_memory(), 0u);
  EXPECT_LT(available_memory(), UINT64_MAX) << "of this machine";
}

TEST(Memory, AControlGroupAndThoseAboveItLimitIt) {
  const Machine machine;
  machine.says("proc/meminfo", "MemAvailable: 5000 kB\n");
  machine.says("proc/self/cgroup", "0::/outer/inner\n");
  const std::string outer = "sys/fs/cgroup/outer/", inner = outer + "inner/";
  machine.says(inner + "memory.max", "max\n");
  machine.says(inner + "memory.current", "900000\n");
  EXPECT_EQ(available_memory(machine.root), 5000u << 10) << "no limit";
  machine.says(outer + "memory.max", "3000000\n");
  machine.says(outer + "memory.current", "2000000\n");
  EXPECT_EQ(available_memory(machine.root), 1000000u);
  machine.says(outer + "memory.stat", "anon 5\nfile 700000\ninactive_file 600000\nactive_file 1\n");
  EXPECT_EQ(available_memory(machine.root), 1600000u) << "cached files give way";
  machine.says(inner + "memory.max", "800000\n");
  EXPECT_EQ(available_memory(machine.root), 0u) << "more is held than allowed";
}

TEST(Memory, ControlGroupsOfTheFirstVersionLimitItToo) {
  const Machine machine;
  machine.says("proc/self/cgroup", "9:name=systemd:/\n4:memory:/of/the/host\n3:cpuset:/\n");
  machine.says("sys/fs/cgroup/memory/memory.limit_in_bytes", "4000000\n");
  machine.says("sys/fs/cgroup/memory/memory.usage_in_bytes", "1000000\n");
  machine.says("sys/fs/cgroup/memory/memory.stat", "inactive_file 7\ntotal_inactive_file 250000\n");
  EXPECT_EQ(available_memory(machine.root), 3250000u);
}

}  // namespace
}  // namespace assay
