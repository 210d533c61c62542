#include "host/stale_sockets.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <fstream>

#include "base/unique_fd.h"
#include "testing/bound_socket.h"
#include "testing/temp_dir.h"

namespace paravane::host {
namespace {

namespace fs = std::filesystem;

TEST(StaleSockets, GoUnlessAProcessListens) {
  const TempDir directory;
  bound_socket(directory / "db1.sock").reset();
  bound_socket(directory / "db1.2.sock").reset();
  bound_socket(directory / "naa.6001405000000001.lun").reset();
  const UniqueFd live = bound_socket(directory / "live.sock");
  ASSERT_EQ(::listen(live.get(), 1), 0);
  bound_socket(directory / "other").reset();
  std::ofstream(directory / "file.sock") << "text";
  EXPECT_EQ(remove_stale_sockets(directory.path()), 3u);
  EXPECT_FALSE(fs::exists(directory / "naa.6001405000000001.lun"));
  EXPECT_FALSE(fs::exists(directory / "db1.sock"));
  EXPECT_FALSE(fs::exists(directory / "db1.2.sock"));
  EXPECT_TRUE(fs::exists(directory / "live.sock"));
  EXPECT_TRUE(fs::exists(directory / "other"));
  EXPECT_TRUE(fs::exists(directory / "file.sock"));
}

TEST(StaleSockets, ADirectoryThatIsNotThereIsNoReasonToEnd) {
  const TempDir directory;
  EXPECT_EQ(remove_stale_sockets(directory / "none"), 0u);
}

}  // namespace
}  // namespace paravane::host
