#include "daemon/memory_releaser.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/kcmp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "base/unique_fd.h"
#include "daemon/system_calls.h"
#include "keeper/orphans.h"

namespace paravane::daemon {
namespace {

namespace fs = std::filesystem;

constexpr auto kReleasePatience = std::chrono::seconds(60);

fs::path proc(pid_t process) {
  return fs::path("/proc") / std::to_string(process);
}

// Of /proc/PID/status; "" when the process is gone.
std::string fact(pid_t process, const std::string& name) {
  std::ifstream status(proc(process) / "status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(name + ":\t")) return line.substr(name.size() + 2);
  }
  return "";
}

bool has_ended(pid_t process) {
  const std::string state = fact(process, "State");
  return state.empty() || state.starts_with("Z");
}

bool ends(pid_t process) {
  const auto late = std::chrono::steady_clock::now() + kReleasePatience;
  while (!has_ended(process) && std::chrono::steady_clock::now() < late) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return has_ended(process);
}

// A process that stands for an engine: it starts a releaser, and then lives until it is killed.
class MemoryReleaser : public testing::Test {
 protected:
  ~MemoryReleaser() override { end_engine(); }

  void start(bool is_filtered) {
    std::array<int, 2> from{};
    std::array<int, 2> to{};
    ASSERT_EQ(::pipe2(from.data(), O_CLOEXEC), 0);
    ASSERT_EQ(::pipe2(to.data(), O_CLOEXEC), 0);
    from_engine_ = UniqueFd(from[0]);
    UniqueFd says(from[1]);
    const UniqueFd hears(to[0]);
    to_engine_ = UniqueFd(to[1]);
    engine_ = ::fork();
    ASSERT_GE(engine_, 0);
    if (engine_ == 0) be_engine(is_filtered, says.get(), hears.get());
    says.reset();
    char byte = 0;
    ASSERT_EQ(::read(from_engine_.get(), &byte, 1), 1) << "the releaser did not start";
    std::ifstream children(proc(engine_) / "task" / std::to_string(engine_) / "children");
    const std::vector<pid_t> found(std::istream_iterator<pid_t>(children), {});
    ASSERT_EQ(found.size(), 1U);
    releaser_ = found[0];
  }

  // The engine has it end, which has returned.
  void end_releaser() {
    char byte = 0;
    ASSERT_EQ(::write(to_engine_.get(), "", 1), 1);
    ASSERT_EQ(::read(from_engine_.get(), &byte, 1), 1);
  }

  void end_engine() {
    if (engine_ <= 0) return;
    ::kill(engine_, SIGKILL);
    ::waitpid(engine_, nullptr, 0);
    engine_ = 0;
  }

  pid_t engine_ = 0;
  pid_t releaser_ = 0;

 private:
  [[noreturn]] static void be_engine(bool is_filtered, int says, int hears) {
    std::vector<sock_filter> filter;
    if (is_filtered) {
      auto program = releasing_only();
      if (!program || ::prctl(PR_SET_NO_NEW_PRIVS, 1UL, 0UL, 0UL, 0UL) != 0) ::_exit(1);
      filter = std::move(*program);
    }
    if (!start_memory_releaser(filter)) ::_exit(1);
    if (::write(says, "", 1) != 1) ::_exit(1);
    char byte = 0;
    if (::read(hears, &byte, 1) != 1) ::_exit(1);
    end_memory_releaser();
    end_memory_releaser();  // it has ended before
    if (::write(says, "", 1) != 1) ::_exit(1);
    for (;;) ::pause();
  }

  UniqueFd from_engine_;
  UniqueFd to_engine_;
};

TEST_F(MemoryReleaser, SharesTheMemoryAndEndsAfterTheEngine) {
  start(true);
  EXPECT_EQ(::syscall(SYS_kcmp, engine_, releaser_, KCMP_VM, 0UL, 0UL), 0);
  EXPECT_EQ(fact(releaser_, "Name"), keeper::kReleasersName);
  end_engine();
  EXPECT_TRUE(ends(releaser_));
}

TEST_F(MemoryReleaser, HasOneDescriptorAndAFilterOfItsOwn) {
  start(true);
  const auto descriptors = fs::directory_iterator(proc(releaser_) / "fd");
  EXPECT_EQ(std::distance(begin(descriptors), end(descriptors)), 1);
  EXPECT_EQ(fact(releaser_, "Seccomp"), "2");
  EXPECT_EQ(fact(engine_, "Seccomp"), "0");
}

TEST_F(MemoryReleaser, IsNotMissedWhenItIsKilled) {
  start(true);
  ::kill(releaser_, SIGKILL);
  ASSERT_TRUE(ends(releaser_));
  // It lives: it sleeps, or is about to.
  const std::string state = fact(engine_, "State");
  EXPECT_TRUE(state.starts_with("S") || state.starts_with("R")) << state;
}

// An adapter's queue pairs end with the last process that has them mapped.
TEST_F(MemoryReleaser, HasLeftTheMemoryWhenItIsEnded) {
  start(true);
  end_releaser();
  EXPECT_NE(::syscall(SYS_kcmp, engine_, releaser_, KCMP_VM, 0UL, 0UL), 0);
}

TEST_F(MemoryReleaser, NeedsNoFilter) {
  start(false);
  EXPECT_EQ(::syscall(SYS_kcmp, engine_, releaser_, KCMP_VM, 0UL, 0UL), 0);
  EXPECT_EQ(fact(releaser_, "Seccomp"), "0");
}

}  // namespace
}  // namespace paravane::daemon
