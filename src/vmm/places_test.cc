#include "vmm/places.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>

namespace paravane::vmm {
namespace {

using State = Runner::State;
using testing::HasSubstr;

class PlacesTest : public testing::Test {
 protected:
  PlacesTest() {
    std::string pattern = testing::TempDir() + "placesXXXXXX";
    folder_ = ::mkdtemp(pattern.data());
  }
  ~PlacesTest() override {
    for (const pid_t child : children_) end(child);
    std::filesystem::remove_all(folder_);
  }

  // A process that tries to start the VM: once it has the lock, or not, it says so.
  struct Starter {
    pid_t pid;
    bool won;
  };
  Starter start() {
    std::array<int, 2> ends{};
    EXPECT_EQ(::pipe(ends.data()), 0);
    const pid_t pid = ::fork();
    if (pid == 0) {
      const auto lock = places().lock("db1");
      const char won = lock ? 'y' : 'n';
      if (::write(ends[1], &won, 1) != 1) ::_exit(2);
      for (;;) ::pause();
    }
    children_.push_back(pid);
    char won = 0;
    EXPECT_EQ(::read(ends[0], &won, 1), 1);
    ::close(ends[0]);
    ::close(ends[1]);
    return {pid, won == 'y'};
  }
  static void end(pid_t child) {
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
  }
  Places places() const { return Places(folder_ + "/vms"); }

  std::string folder_;
  std::vector<pid_t> children_;
};

TEST_F(PlacesTest, AVmThatNobodyStartedIsOff) {
  EXPECT_EQ(places().runner("db1"), (Runner{State::kOff, 0}));
}

TEST_F(PlacesTest, OneOfTwoWhoStartAVmWins) {
  const Starter first = start();
  const Starter second = start();
  EXPECT_TRUE(first.won);
  EXPECT_FALSE(second.won);
  EXPECT_EQ(places().runner("db1"), (Runner{State::kRunning, first.pid}));
  EXPECT_EQ(places().runner("db2").state, State::kOff);
  const auto lock = places().lock("db1");
  ASSERT_FALSE(lock);
  EXPECT_EQ(lock.error().message, "already running (pid " + std::to_string(first.pid) + ")");
}

TEST_F(PlacesTest, AVmThatWasKilledIsOff) {
  const Starter first = start();
  end(first.pid);
  EXPECT_EQ(places().runner("db1").state, State::kOff);
  EXPECT_TRUE(start().won);
}

// To look is no reason for a start to fail.
TEST_F(PlacesTest, LookingTakesNoLock) {
  ASSERT_TRUE(places().lock("db1"));
  const Runner before = places().runner("db1");
  EXPECT_EQ(before.state, State::kOff);
  EXPECT_TRUE(start().won);
}

TEST_F(PlacesTest, ALinkInThePlaceOfALockIsNotFollowed) {
  std::filesystem::create_directory(folder_ + "/vms");
  std::filesystem::create_symlink(folder_ + "/target", places().lock_file("db1"));
  EXPECT_FALSE(places().lock("db1"));
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/target"));
  EXPECT_EQ(places().runner("db1").state, State::kUnknown);
}

TEST_F(PlacesTest, OnlyQemuEntersItsDirectory) {
  ASSERT_TRUE(places().lock("db1"));
  std::filesystem::create_directory(places().directory("db1"));
  ASSERT_TRUE(places().make_directory("db1", ::geteuid(), ::getegid()));
  struct stat seen{};
  ASSERT_EQ(::stat(places().directory("db1").c_str(), &seen), 0);
  EXPECT_EQ(seen.st_mode & 07777, 0700u);
  std::filesystem::create_directory_symlink("/", places().directory("db2"));
  EXPECT_FALSE(places().make_directory("db2", ::geteuid(), ::getegid()));
}

TEST_F(PlacesTest, TheLogsEndIsPrintable) {
  ASSERT_TRUE(places().lock("db1"));
  EXPECT_EQ(places().log_tail("db1"), "");
  auto log = places().make_log("db1");
  ASSERT_TRUE(log);
  std::string text;
  for (int line = 0; line < 2000; ++line) text += "line " + std::to_string(line) + "\n";
  text += "\x1b[2Jend\n";
  ASSERT_EQ(::write(log->get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
  log->reset();
  const std::string tail = places().log_tail("db1");
  EXPECT_THAT(tail, testing::StartsWith("line 1993\n"));
  EXPECT_THAT(tail, testing::EndsWith("line 1999\n?[2Jend\n"));
}

TEST_F(PlacesTest, TheLogsEndIsThereWhenWhoWritesItHasEnded) {
  ASSERT_TRUE(places().lock("db1"));
  auto log = places().make_log("db1");
  ASSERT_TRUE(log);
  std::jthread writer([&log] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    EXPECT_EQ(::write(log->get(), "end\n", 4), 4);
    log->reset();
  });
  EXPECT_EQ(places().log_tail("db1"), "end\n");
}

TEST_F(PlacesTest, ANewLogIsNotWrittenToByWhoHasTheOneBefore) {
  ASSERT_TRUE(places().lock("db1"));
  const auto before = places().make_log("db1");
  auto now = places().make_log("db1");
  ASSERT_TRUE(before && now);
  EXPECT_EQ(::write(before->get(), "x\n", 2), 2);
  now->reset();
  EXPECT_EQ(places().log_tail("db1"), "");
}

}  // namespace
}  // namespace paravane::vmm
