#include "host/directory_lock.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/temp_dir.h"

namespace paravane::host {
namespace {

using testing::HasSubstr;

TEST(DirectoryLock, IsHeldByOneAtATime) {
  const TempDir dir;
  {
    const auto first = DirectoryLock::take(dir.path(), "state.directory");
    ASSERT_TRUE(first);
    EXPECT_TRUE(DirectoryLock::take(dir.path(), "vfio_user.socket_directory"));
    const auto second = DirectoryLock::take(dir.path(), "state.directory");
    ASSERT_FALSE(second);
    EXPECT_THAT(second.error().message,
                HasSubstr("another paravaned is using " + dir.path().string()));
  }
  EXPECT_TRUE(DirectoryLock::take(dir.path(), "state.directory"));
}

}  // namespace
}  // namespace paravane::host
