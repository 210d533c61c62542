#include "vmm/end.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <thread>

#include "base/unique_fd.h"
#include "vmm/machine_arguments.h"

namespace paravane::vmm {
namespace {

using namespace std::chrono_literals;

void say(int client, std::string_view text) {
  // Nobody may be there any more.
  [[maybe_unused]] const auto sent = ::send(client, text.data(), text.size(), MSG_NOSIGNAL);
}

std::string hear(int client) {
  std::array<char, 1000> bytes;
  const ssize_t count = ::recv(client, bytes.data(), bytes.size(), 0);
  return {bytes.data(), static_cast<std::size_t>(std::max<ssize_t>(count, 0))};
}

// A process that is a VM's QEMU: it has the lock, and its monitor is there some time later.
class EndTest : public testing::Test {
 protected:
  EndTest() {
    std::string pattern = testing::TempDir() + "endXXXXXX";
    folder_ = ::mkdtemp(pattern.data());
  }
  ~EndTest() override {
    if (qemu_ > 0) ::kill(qemu_, SIGKILL);
    if (qemu_ > 0) ::waitpid(qemu_, nullptr, 0);
    std::filesystem::remove_all(folder_);
  }

  Places places() const { return Places(folder_); }
  void start(std::chrono::milliseconds until_monitor) {
    std::array<int, 2> ends{};
    ASSERT_EQ(::pipe(ends.data()), 0);
    const UniqueFd out(ends[0]), in(ends[1]);
    qemu_ = ::fork();
    if (qemu_ == 0) be_qemu(in.get(), until_monitor);
    char locked = 0;
    ASSERT_EQ(::read(out.get(), &locked, 1), 1);
  }
  // Ends as a guest does that hears its power button.
  [[noreturn]] void be_qemu(int tell, std::chrono::milliseconds until_monitor) const {
    const auto lock = places().lock("db1");
    if (!lock || ::write(tell, "x", 1) != 1) ::_exit(1);
    std::this_thread::sleep_for(until_monitor);
    std::filesystem::create_directory(places().directory("db1"));
    const UniqueFd listener(::socket(AF_UNIX, SOCK_STREAM, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string path = places().directory("db1") + "/" + kQmpSocket;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    if (::bind(listener.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
        ::listen(listener.get(), 1) != 0) {
      ::_exit(1);
    }
    const UniqueFd client(::accept(listener.get(), nullptr, nullptr));
    say(client.get(), "{\"QMP\":{\"version\":{}}}\n");
    hear(client.get());
    say(client.get(), "{\"return\":{}}\n");
    const bool pressed = hear(client.get()).find("system_powerdown") != std::string::npos;
    say(client.get(), "{\"return\":{}}\n");
    ::_exit(pressed ? 0 : 1);
  }
  int exit_status() {
    int status = -1;
    ::waitpid(std::exchange(qemu_, 0), &status, 0);
    return status;
  }

  std::string folder_;
  pid_t qemu_ = 0;
};

TEST_F(EndTest, PowersDownAVmThatHasJustBeenStarted) {
  start(300ms);
  const Status ended = power_down(places(), "db1", 20s, [](std::chrono::seconds) {});
  EXPECT_TRUE(ended) << ended.error().message;
  EXPECT_EQ(exit_status(), 0);
}

TEST_F(EndTest, AVmWithoutAMonitorIsGivenUpInTime) {
  start(1h);
  const Status ended = power_down(places(), "db1", 1s, [](std::chrono::seconds) {});
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().code, Errc::kBadState);
}

TEST_F(EndTest, CutsThePowerOfAVmWithoutAMonitor) {
  start(1h);
  std::jthread reaper([this] { exit_status(); });
  EXPECT_TRUE(cut_power(places(), "db1"));
}

}  // namespace
}  // namespace paravane::vmm
