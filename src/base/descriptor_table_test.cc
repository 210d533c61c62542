#include "base/descriptor_table.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

namespace paravane {
namespace {

// As the kernel says.
std::uint64_t table_size() {
  std::ifstream status("/proc/self/status");
  std::uint64_t size = 0;
  for (std::string name; status >> name;) {
    if (name == "FDSize:") status >> size;
  }
  return size;
}

TEST(DescriptorTable, HasRoomWithoutAnOpenDescriptor) {
  rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
  reserve_descriptor_table(STDERR_FILENO);
  EXPECT_GE(table_size(), std::min(limit.rlim_cur, kReservedDescriptors));
  EXPECT_LT(::fcntl(static_cast<int>(std::min(limit.rlim_cur, kReservedDescriptors) - 1), F_GETFD),
            0);
}

TEST(DescriptorTable, ALowLimitIsNoFault) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit low{.rlim_cur = 3, .rlim_max = before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &low), 0);
  reserve_descriptor_table(STDERR_FILENO);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_GE(::fcntl(STDERR_FILENO, F_GETFD), 0);
}

}  // namespace
}  // namespace paravane
