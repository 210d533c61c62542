#include "keeper/notify.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <string>

#include "base/unique_fd.h"
#include "testing/log_capture.h"
#include "testing/temp_dir.h"

namespace paravane::keeper {
namespace {

using testing::HasSubstr;

class NotifierTest : public testing::Test {
 protected:
  std::string receive() {
    char buffer[256];
    const ssize_t count = recv(socket_.get(), buffer, sizeof buffer, MSG_DONTWAIT);
    return count < 0 ? "" : std::string(buffer, static_cast<std::size_t>(count));
  }
  void bind_to(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    if (address.sun_path[0] == '@') address.sun_path[0] = '\0';
    const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size());
    socket_.reset(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    ASSERT_EQ(bind(socket_.get(), reinterpret_cast<sockaddr*>(&address), length), 0);
  }

  TempDir dir_;
  UniqueFd socket_;
};

TEST_F(NotifierTest, SpeaksToASocketFile) {
  bind_to((dir_ / "notify").string());
  const Notifier notifier((dir_ / "notify").string());
  notifier.ready("2 VMs");
  EXPECT_EQ(receive(), "READY=1\nSTATUS=2 VMs");
  notifier.stopping();
  EXPECT_THAT(receive(), HasSubstr("STOPPING=1"));
}

TEST_F(NotifierTest, SpeaksToAnAbstractSocket) {
  const std::string name = "@paravane-test-" + std::to_string(getpid());
  bind_to(name);
  Notifier(name).status("fine");
  EXPECT_EQ(receive(), "STATUS=fine");
}

TEST_F(NotifierTest, IsSilentWithoutAServiceManager) {
  const LogCapture log;
  Notifier("").ready("x");
  Notifier(std::string(200, 'x')).ready("x");
  EXPECT_EQ(log.text(), "");
  Notifier((dir_ / "nobody").string()).ready("x");
  EXPECT_THAT(log.text(), HasSubstr("cannot notify the service manager: No such file"));
}

TEST_F(NotifierTest, DoesNotWaitForAServiceManagerThatDoesNotReadOfTheWatchdog) {
  const LogCapture log;
  bind_to((dir_ / "notify").string());
  const Notifier notifier((dir_ / "notify").string());
  for (int i = 0; i < 2000; ++i) notifier.watchdog();
  EXPECT_EQ(receive(), "WATCHDOG=1");
  EXPECT_THAT(log.text(), HasSubstr("cannot notify the service manager: Resource temporarily"));
}

TEST(WatchdogLimit, IsWhatTheServiceManagerSaysToThisProcess) {
  EXPECT_EQ(watchdog_limit("60000000", nullptr, 7), std::chrono::seconds(60));
  EXPECT_EQ(watchdog_limit("60000000", "7", 7), std::chrono::seconds(60));
  EXPECT_EQ(watchdog_limit("60000000", "8", 7), Duration{}) << "of the process before this one";
  for (const char* none : {"", "0", "-1", "1s", "999999999999999999999", "18446744073709551615"}) {
    EXPECT_EQ(watchdog_limit(none, nullptr, 7), Duration{}) << none;
  }
  EXPECT_EQ(watchdog_limit(nullptr, nullptr, 7), Duration{});
}

}  // namespace
}  // namespace paravane::keeper
