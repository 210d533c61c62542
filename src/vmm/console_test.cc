#include "vmm/console.h"

#include <gtest/gtest.h>
#include <pty.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <array>
#include <string>
#include <thread>

#include "base/unique_fd.h"

namespace paravane::vmm {
namespace {

using namespace std::chrono_literals;

struct Pair {
  UniqueFd near, far;
};

Pair socket_pair() {
  std::array<int, 2> ends{};
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()), 0);
  return {UniqueFd(ends[0]), UniqueFd(ends[1])};
}

void put(const UniqueFd& to, std::string_view text) {
  EXPECT_EQ(::write(to.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
}

std::string take(const UniqueFd& from) {
  std::array<char, 100> bytes;
  const ssize_t count = ::recv(from.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
  return {bytes.data(), static_cast<std::size_t>(std::max<ssize_t>(count, 0))};
}

TEST(Console, CarriesBothWaysUntilTheUserLeaves) {
  Pair line = socket_pair(), keyboard = socket_pair(), screen = socket_pair();
  put(line.far, "login: ");
  put(keyboard.far,
      "root\n\x1d"
      "never sent");
  EXPECT_EQ(carry_console(line.near.get(), keyboard.near.get(), screen.near.get(), 10ms),
            ConsoleEnd::kLeft);
  EXPECT_EQ(take(line.far), "root\n");
  EXPECT_EQ(take(screen.far), "login: ");
}

TEST(Console, AfterTheEndOfInputWaitsUntilTheVmIsQuiet) {
  Pair line = socket_pair(), keyboard = socket_pair(), screen = socket_pair();
  put(keyboard.far, "uptime\n");
  keyboard.far.reset();
  std::thread guest([&line] {
    std::array<char, 7> heard;
    EXPECT_EQ(::recv(line.far.get(), heard.data(), heard.size(), MSG_WAITALL), 7);
    put(line.far, "up 1 day");
  });
  EXPECT_EQ(carry_console(line.near.get(), keyboard.near.get(), screen.near.get(), 3s),
            ConsoleEnd::kInputEnded);
  guest.join();
  EXPECT_EQ(take(screen.far), "up 1 day");
}

TEST(Console, EndsWithItsVm) {
  Pair line = socket_pair(), keyboard = socket_pair(), screen = socket_pair();
  line.far.reset();
  EXPECT_EQ(carry_console(line.near.get(), keyboard.near.get(), screen.near.get(), 10ms),
            ConsoleEnd::kVmEnded);
}

TEST(Console, PutsTheTerminalBack) {
  Pair line = socket_pair(), screen = socket_pair();
  int controller = -1, terminal = -1;
  ASSERT_EQ(::openpty(&controller, &terminal, nullptr, nullptr, nullptr), 0);
  const UniqueFd keyboard(controller), near(terminal);
  termios before{}, during{}, after{};
  ASSERT_EQ(::tcgetattr(terminal, &before), 0);
  std::thread user([&] {
    put(line.far, "x");
    std::array<char, 1> shown;
    EXPECT_EQ(::recv(screen.far.get(), shown.data(), 1, MSG_WAITALL), 1);
    EXPECT_EQ(::tcgetattr(controller, &during), 0);
    put(keyboard, "\x1d");
  });
  EXPECT_EQ(carry_console(line.near.get(), terminal, screen.near.get(), 10ms), ConsoleEnd::kLeft);
  user.join();
  ASSERT_EQ(::tcgetattr(terminal, &after), 0);
  EXPECT_EQ(during.c_lflag & ICANON, 0u);
  EXPECT_NE(before.c_lflag & ICANON, 0u);
  EXPECT_EQ(after.c_lflag, before.c_lflag);
}

// As a closed window (SIGHUP) or a colleague (SIGTERM) ends it.
class ConsoleSignal : public testing::TestWithParam<int> {};

TEST_P(ConsoleSignal, EndsTheProgramAfterTheTerminalIsPutBack) {
  Pair line = socket_pair(), screen = socket_pair();
  int controller = -1, terminal = -1;
  ASSERT_EQ(::openpty(&controller, &terminal, nullptr, nullptr, nullptr), 0);
  const UniqueFd keyboard(controller), near(terminal);
  termios before{}, after{};
  ASSERT_EQ(::tcgetattr(terminal, &before), 0);
  const pid_t program = ::fork();
  if (program == 0) {
    static_cast<void>(carry_console(line.near.get(), terminal, screen.near.get(), 10ms));
    ::_exit(0);  // not reached
  }
  put(line.far, "x");
  std::array<char, 1> shown;
  EXPECT_EQ(::recv(screen.far.get(), shown.data(), 1, MSG_WAITALL), 1);
  ::kill(program, GetParam());
  int status = 0;
  ASSERT_EQ(::waitpid(program, &status, 0), program);
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), GetParam());
  ASSERT_EQ(::tcgetattr(terminal, &after), 0);
  EXPECT_EQ(after.c_lflag, before.c_lflag);
}
INSTANTIATE_TEST_SUITE_P(Each, ConsoleSignal, testing::Values(SIGHUP, SIGINT, SIGQUIT, SIGTERM));

TEST(Console, IsEndedBySignalsThoughNobodyReadsItsOutput) {
  Pair line = socket_pair(), keyboard = socket_pair();
  std::array<int, 2> screen{};
  ASSERT_EQ(::pipe(screen.data()), 0);
  const UniqueFd unread(screen[0]), output(screen[1]);
  const pid_t program = ::fork();
  if (program == 0) {
    static_cast<void>(carry_console(line.near.get(), keyboard.near.get(), output.get(), 10ms));
    ::_exit(0);
  }
  const std::string much(200'000, 'x');
  for (std::string_view rest = much; !rest.empty();) {  // until its pipe is full
    const ssize_t count = ::send(line.far.get(), rest.data(), rest.size(), MSG_DONTWAIT);
    if (count < 0) break;
    rest.remove_prefix(static_cast<std::size_t>(count));
  }
  ::kill(program, SIGTERM);
  int status = 0;
  ASSERT_EQ(::waitpid(program, &status, 0), program);
  EXPECT_TRUE(WIFSIGNALED(status));
}

}  // namespace
}  // namespace paravane::vmm
