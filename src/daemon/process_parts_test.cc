// Small parts of the process: directories, the lock, the service manager, logs.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>

#include "base/log.h"
#include "base/unique_fd.h"
#include "base/directory_check.h"
#include "daemon/directory_lock.h"
#include "daemon/logging.h"
#include "daemon/notify.h"
#include "testing/log_capture.h"
#include "testing/temp_dir.h"

namespace paravane::daemon {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(DirectoryCheck, IsContentWithADirectory) {
  const TempDir dir;
  EXPECT_TRUE(check_directory(dir.path(), "state.directory"));
}

TEST(DirectoryCheck, SaysHowToMakeAMissingOne) {
  const TempDir dir;
  const Status checked = check_directory(dir / "none", "state.directory");
  ASSERT_FALSE(checked);
  EXPECT_THAT(checked.error().message,
              AllOf(HasSubstr("state.directory"), HasSubstr("no such directory"),
                    HasSubstr("install -d -m 0750 " + (dir / "none").string())));
}

TEST(DirectoryCheck, RefusesAFile) {
  const TempDir dir;
  std::ofstream(dir / "file") << "x";
  const std::string message = check_directory(dir / "file", "x").error().message;
  EXPECT_THAT(message, HasSubstr("not a directory"));
  EXPECT_THAT(message, testing::Not(HasSubstr("install -d")));  // it would fail
}

TEST(DirectoryLock, IsHeldByOneAtATime) {
  const TempDir dir;
  {
    const auto first = DirectoryLock::take(dir.path(), "state.directory");
    ASSERT_TRUE(first);
    EXPECT_TRUE(DirectoryLock::take(dir.path(), "vfio_user.socket_directory"));
    const auto second = DirectoryLock::take(dir.path(), "state.directory");
    ASSERT_FALSE(second);
    EXPECT_THAT(second.error().message, HasSubstr("another paravaned uses " + dir.path().string()));
  }
  EXPECT_TRUE(DirectoryLock::take(dir.path(), "state.directory"));
}

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
  EXPECT_THAT(log.text(), HasSubstr("cannot tell the service manager our state: No such file"));
}

TEST(Logging, WritesJsonThatHoldsAnything) {
  testing::internal::CaptureStderr();
  const auto before = spdlog::default_logger();
  {
    const Logging logging({.level = "info", .format = LogFormat::kJson});
    log::info("vm {}: \"quoted\"\nsecond line \xff", "db1");
    log::debug("not this");
  }
  spdlog::set_default_logger(before);
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_EQ(std::ranges::count(text, '\n'), 1);
  const auto line = nlohmann::json::parse(text, nullptr, false);
  ASSERT_TRUE(line.is_object()) << text;
  EXPECT_EQ(line.at("level"), "info");
  EXPECT_THAT(line.at("message").get<std::string>(), HasSubstr("\"quoted\"\nsecond line"));
}

// A reader who does not read: the pipe is full, and nobody who logs waits.
TEST(LogWriter, NeverWaitsForItsReader) {
  int ends[2] = {-1, -1};
  ASSERT_EQ(pipe(ends), 0);
  UniqueFd reader(ends[0]);
  UniqueFd writing_end(ends[1]);
  std::string text;
  std::thread late;
  {
    LogWriter writer(writing_end.get());
    for (std::size_t i = 0; i < 3 * LogWriter::kMaxLines; ++i)
      writer.push(std::string(99, 'x') + "\n");
    // To its end: who leaves in between leaves the writer with a full pipe.
    late = std::thread([&] {
      char buffer[65536];
      for (ssize_t count = 0; (count = read(reader.get(), buffer, sizeof buffer)) > 0;)
        text.append(buffer, static_cast<std::size_t>(count));
    });
  }
  writing_end.reset();
  late.join();
  EXPECT_THAT(text, HasSubstr("log lines were dropped)\n"));
}

}  // namespace
}  // namespace paravane::daemon
