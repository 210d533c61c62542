#include "base/socket_use.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <cerrno>
#include <fstream>
#include <string>

#include "base/unique_fd.h"
#include "testing/bound_socket.h"
#include "testing/temp_dir.h"

namespace paravane {
namespace {

class SocketUseTest : public testing::Test {
 protected:
  TempDir directory_;
  std::filesystem::path path_ = directory_ / "a.sock";
};

TEST_F(SocketUseTest, NothingIsThere) {
  EXPECT_EQ(look_at_socket(path_).use, SocketUse::kNothing);
  EXPECT_EQ(look_at_socket(directory_ / "none" / "a.sock").use, SocketUse::kNothing);
}

TEST_F(SocketUseTest, AFileOrALinkIsNoSocket) {
  std::ofstream(path_) << "text";
  EXPECT_EQ(look_at_socket(path_).use, SocketUse::kOther);
  const UniqueFd other = bound_socket(directory_ / "b.sock");
  std::filesystem::create_symlink(directory_ / "b.sock", directory_ / "c.sock");
  EXPECT_EQ(look_at_socket(directory_ / "c.sock").use, SocketUse::kOther);
}

TEST_F(SocketUseTest, ASocketIsStaleUntilAProcessListens) {
  const UniqueFd socket = bound_socket(path_);
  EXPECT_EQ(look_at_socket(path_).use, SocketUse::kStale);
  ASSERT_EQ(::listen(socket.get(), 0), 0);
  EXPECT_EQ(look_at_socket(path_).use, SocketUse::kListening);
}

// Its line of clients is full: it lives all the same.
TEST_F(SocketUseTest, ABusyListenerListens) {
  const UniqueFd socket = bound_socket(path_);
  ASSERT_EQ(::listen(socket.get(), 0), 0);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(look_at_socket(path_).use, SocketUse::kListening);
}

TEST_F(SocketUseTest, APathThatIsTooLongIsUnknown) {
  const std::filesystem::path shorter = directory_ / "x.sock";
  const UniqueFd socket = bound_socket(shorter);
  const std::filesystem::path longer = directory_.path() / std::string(120, 'x');
  std::filesystem::rename(shorter, longer);
  const SocketLook look = look_at_socket(longer);
  EXPECT_EQ(look.use, SocketUse::kUnknown);
  EXPECT_EQ(look.error, ENAMETOOLONG);
}

}  // namespace
}  // namespace paravane
