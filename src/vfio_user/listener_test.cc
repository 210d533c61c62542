#include "vfio_user/listener.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <fstream>

#include "testing/raw_vfio_client.h"
#include "testing/vfio_server_rig.h"

namespace paravane::vfio_user {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class ListenerTest : public ::testing::Test {
 protected:
  std::string error_of(const std::filesystem::path& path, Errc code) {
    const Result<Listener> listener = Listener::bind(path, 0600);
    if (listener) return "";
    EXPECT_EQ(listener.error().code, code);
    return listener.error().message;
  }

  // A socket file that nobody listens on, as a killed process leaves it.
  static void leave_stale_socket(const std::filesystem::path& path) {
    const UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.native().copy(address.sun_path, sizeof address.sun_path - 1);
    ASSERT_EQ(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  }

  TempDir directory_;
  std::filesystem::path path_ = directory_.path() / "vm.sock";
};

TEST_F(ListenerTest, AcceptsClientsAndSaysWhenThereAreNone) {
  Result<Listener> listener = Listener::bind(path_, 0600);
  ASSERT_TRUE(listener);
  EXPECT_FALSE(listener->accept()->has_value());
  const RawVfioClient client(path_, [] {});
  ASSERT_TRUE(client.connected());
  EXPECT_TRUE(listener->accept()->has_value());
  EXPECT_FALSE(listener->accept()->has_value());
}

TEST_F(ListenerTest, TheFileHasTheModeAskedForAndGoesWithTheListener) {
  {
    const Result<Listener> listener = Listener::bind(path_, 0640);
    ASSERT_TRUE(listener);
    struct stat made{};
    ASSERT_EQ(::lstat(path_.c_str(), &made), 0);
    EXPECT_EQ(made.st_mode & 0777U, 0640U);
  }
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(ListenerTest, M01_ReplacesAStaleSocket) {
  leave_stale_socket(path_);
  EXPECT_TRUE(Listener::bind(path_, 0600));
}

TEST_F(ListenerTest, M01_LeavesALiveSocketAlone) {
  const Result<Listener> first = Listener::bind(path_, 0600);
  ASSERT_TRUE(first);
  EXPECT_THAT(error_of(path_, Errc::kBadState),
              AllOf(HasSubstr(path_.string()), HasSubstr("another process is listening there")));
  EXPECT_TRUE(RawVfioClient(path_, [] {}).connected());
}

TEST_F(ListenerTest, LeavesAFileThatIsNoSocketAlone) {
  std::ofstream(path_) << "precious";
  EXPECT_THAT(error_of(path_, Errc::kIo), HasSubstr("not a socket"));
  EXPECT_TRUE(std::filesystem::exists(path_));
}

TEST_F(ListenerTest, LeavesTheFileOfASuccessorAlone) {
  Result<Listener> first = Listener::bind(path_, 0600);
  ASSERT_TRUE(first);
  std::filesystem::remove(path_);
  const Result<Listener> second = Listener::bind(path_, 0600);
  ASSERT_TRUE(second);
  {
    const Listener gone = std::move(*first);
  }
  EXPECT_TRUE(std::filesystem::exists(path_));
}

TEST_F(ListenerTest, NamesAMissingDirectory) {
  const std::filesystem::path missing = directory_.path() / "nowhere";
  EXPECT_THAT(error_of(missing / "vm.sock", Errc::kIo),
              AllOf(HasSubstr((missing / "vm.sock").string()),
                    HasSubstr("the directory " + missing.string() + " does not exist; create it")));
}

TEST_F(ListenerTest, NamesADirectoryThatIsAFile) {
  std::ofstream(directory_.path() / "file") << "x";
  EXPECT_THAT(error_of(directory_.path() / "file" / "vm.sock", Errc::kIo),
              HasSubstr("is not a directory"));
}

// Root may write anywhere, so it is somebody else for a moment.
class AsNobody {
 public:
  AsNobody() {
    if (was_root_) {
      EXPECT_EQ(seteuid(65534), 0);
    }
  }
  ~AsNobody() {
    if (was_root_) {
      EXPECT_EQ(seteuid(0), 0);
    }
  }

 private:
  bool was_root_ = geteuid() == 0;
};

TEST_F(ListenerTest, NamesADirectoryThatCannotBeWritten) {
  const std::filesystem::path directory = directory_.path() / "theirs";
  std::filesystem::create_directory(directory);
  std::filesystem::permissions(directory_.path(), std::filesystem::perms(0755));
  std::filesystem::permissions(directory, std::filesystem::perms(0555));
  const AsNobody nobody;
  EXPECT_THAT(error_of(directory / "vm.sock", Errc::kIo),
              AllOf(HasSubstr("the directory " + directory.string() + " is not writable"),
                    HasSubstr("change its owner or mode")));
}

TEST_F(ListenerTest, NamesADirectoryThatTakesNoFiles) {
  EXPECT_THAT(error_of("/proc/vm.sock", Errc::kIo), HasSubstr("cannot listen on /proc/vm.sock: "));
}

TEST_F(ListenerTest, RefusesAPathThatNoSocketCanHave) {
  EXPECT_THAT(error_of(directory_.path() / std::string(108, 'x'), Errc::kInvalidArgument),
              HasSubstr("shorten it"));
  EXPECT_NE(error_of("", Errc::kInvalidArgument), "");
}

}  // namespace
}  // namespace paravane::vfio_user
