#include "host/directory_lock.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <utility>

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

TEST(DirectoryLock, IsInheritedWithItsOpenFileAlone) {
  const TempDir dir;
  auto first = DirectoryLock::take(dir.path(), "state.directory");
  ASSERT_TRUE(first);
  const std::filesystem::path file = dir / "state.directory.lock";
  const auto inherit = [&](UniqueFd fd) {
    return DirectoryLock::inherit(std::move(fd), dir.path(), "state.directory");
  };
  EXPECT_FALSE(inherit(UniqueFd()));
  EXPECT_FALSE(inherit(UniqueFd(::open("/dev/null", O_RDWR | O_CLOEXEC))));
  EXPECT_FALSE(inherit(UniqueFd(::open(file.c_str(), O_RDWR | O_CLOEXEC)))) << "not the locked one";
  {
    const auto second = inherit(UniqueFd(::dup(first->fd())));
    ASSERT_TRUE(second);
    {
      const DirectoryLock ended = std::move(*first);
    }
    EXPECT_FALSE(DirectoryLock::take(dir.path(), "state.directory"));
  }
  EXPECT_TRUE(DirectoryLock::take(dir.path(), "state.directory"));
}

}  // namespace
}  // namespace paravane::host
