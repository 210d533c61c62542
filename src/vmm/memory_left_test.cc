#include "vmm/memory_left.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace paravane::vmm {
namespace {

// A file system with what the kernel says.
class MemoryLeftTest : public testing::Test {
 protected:
  MemoryLeftTest() { write("proc/meminfo", "MemTotal: 9000000 kB\nMemAvailable:  4194304 kB\n"); }
  ~MemoryLeftTest() override { std::filesystem::remove_all(root_); }
  void write(const std::string& file, const std::string& text) {
    const std::filesystem::path path = root_ + file;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  void limit(const std::string& group, const std::string& most, const std::string& used) {
    write("sys/fs/cgroup" + group + "/memory.max", most + "\n");
    write("sys/fs/cgroup" + group + "/memory.current", used + "\n");
  }

  std::string root_ = testing::TempDir() + "memory-" + std::to_string(::getpid()) + "/";
};

TEST_F(MemoryLeftTest, IsWhatTheHostHas) {
  EXPECT_EQ(memory_left("/vms", root_), (MemoryLeft{.mib = 4096, .of = "the host"}));
  limit("/vms", "max", "100");
  EXPECT_EQ(memory_left("/vms", root_), (MemoryLeft{.mib = 4096, .of = "the host"}));
}

TEST_F(MemoryLeftTest, IsWhatACgroupAboveHas) {
  limit("/vms", "1073741824", "536870912");
  write("sys/fs/cgroup/vms/memory.stat", "anon 1\ninactive_file 268435456\n");
  EXPECT_EQ(memory_left("/vms/one/two", root_), (MemoryLeft{.mib = 768, .of = "cgroup /vms"}));
  limit("/vms", "4096", "536870912");
  EXPECT_EQ(memory_left("/vms", root_), (MemoryLeft{.mib = 1, .of = "cgroup /vms"}));
}

TEST_F(MemoryLeftTest, IsWhatAContainerHas) {
  limit("/", "2147483648", "1073741824");
  EXPECT_EQ(memory_left("/vms", root_), (MemoryLeft{.mib = 1024, .of = "cgroup /"}));
}

TEST_F(MemoryLeftTest, IsThatOfOurOwnCgroup) {
  write("proc/self/cgroup", "1:name=x:/y\n0::/vms/shell\n");
  limit("/vms/shell", "10485760", "0");
  EXPECT_EQ(memory_left("", root_), (MemoryLeft{.mib = 10, .of = "cgroup /vms/shell"}));
}

TEST_F(MemoryLeftTest, IsNotKnownWhereNothingSaysIt) {
  EXPECT_EQ(memory_left("", "/nonexistent/"), MemoryLeft{});
  EXPECT_EQ(huge_pages_free("/nonexistent/"), 0u);
  write("sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages", "12\n");
  EXPECT_EQ(huge_pages_free(root_), 12u);
}

}  // namespace
}  // namespace paravane::vmm
