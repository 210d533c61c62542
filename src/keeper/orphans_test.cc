#include "keeper/orphans.h"

#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>

namespace paravane::keeper {
namespace {

constexpr Instant kNow{std::chrono::hours(1)};

// A child that lives until it is killed.
class Child {
 public:
  explicit Child(const char* name) {
    std::array<int, 2> line{};
    EXPECT_EQ(::pipe(line.data()), 0);
    pid_ = ::fork();
    if (pid_ == 0) {
      ::prctl(PR_SET_NAME, name, 0UL, 0UL, 0UL);
      if (::write(line[1], "", 1) == 1) ::pause();
      ::_exit(1);
    }
    char byte = 0;
    EXPECT_EQ(::read(line[0], &byte, 1), 1);
    for (const int end : line) ::close(end);
  }
  ~Child() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  pid_t pid() const { return pid_; }
  // Waits for it, and leaves its end to be taken note of.
  int wait_killed() const {
    siginfo_t ended{};
    EXPECT_EQ(::waitid(P_PID, static_cast<id_t>(pid_), &ended, WEXITED | WNOWAIT), 0);
    return ended.si_status;
  }
  bool lives() const {
    siginfo_t ended{};
    return ::waitid(P_PID, static_cast<id_t>(pid_), &ended, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           ended.si_pid == 0;
  }

 private:
  pid_t pid_ = 0;
};

// Becomes a child whose end is there to be taken note of.
pid_t ended_child() {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  siginfo_t ended{};
  EXPECT_EQ(::waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOWAIT), 0);
  return child;
}

// Ends this process with 0 if it has become the parent of a grandchild whose own parent has ended.
[[noreturn]] void adopt_a_grandchild() {
  adopt_orphans();
  std::array<int, 2> line{};
  if (::pipe(line.data()) != 0) ::_exit(2);
  const pid_t child = ::fork();
  if (child == 0) {
    const pid_t grandchild = ::fork();
    if (grandchild == 0) ::pause();
    ::_exit(::write(line[1], &grandchild, sizeof grandchild) == sizeof grandchild ? 0 : 1);
  }
  pid_t grandchild = 0;
  if (::read(line[0], &grandchild, sizeof grandchild) != sizeof grandchild) ::_exit(3);
  ::waitpid(child, nullptr, 0);
  ::kill(grandchild, SIGKILL);
  ::_exit(::waitpid(grandchild, nullptr, 0) == grandchild ? 0 : 4);
}

TEST(Orphans, AreBuried) {
  const pid_t one = ended_child();
  const pid_t other = ended_child();
  Orphans().look({}, kNow);
  for (const pid_t gone : {one, other}) EXPECT_EQ(::waitpid(gone, nullptr, WNOHANG), -1);
}

TEST(Orphans, OursAreLeftToThoseThatWaitForThem) {
  const std::array ours{ended_child()};
  Orphans().look(ours, kNow);
  EXPECT_EQ(::waitpid(ours[0], nullptr, WNOHANG), ours[0]);
}

TEST(Orphans, LiveOnesAreNotWaitedFor) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::pause();
    ::_exit(0);
  }
  Orphans().look({}, kNow);
  ::kill(child, SIGKILL);
  EXPECT_EQ(::waitpid(child, nullptr, 0), child);
}

TEST(Orphans, AReleaserThatStaysIsKilled) {
  const Child releaser(kReleasersName);
  Orphans orphans;
  EXPECT_EQ(orphans.next_look(), kNever);
  orphans.look({}, kNow);
  const Instant until = kNow + Orphans::kMayStay;
  EXPECT_EQ(orphans.next_look(), until);
  orphans.look({}, until - std::chrono::nanoseconds(1));
  EXPECT_TRUE(releaser.lives());
  orphans.look({}, until);
  EXPECT_EQ(releaser.wait_killed(), SIGKILL);
  EXPECT_EQ(orphans.next_look(), kNever) << "it is not killed twice";
  orphans.look({}, until);
  EXPECT_EQ(::waitpid(releaser.pid(), nullptr, WNOHANG), -1);
}

// Such as one that a script began which then executed this program.
TEST(Orphans, OthersMayStay) {
  const Child other("other");
  const Child ours(kReleasersName);
  Orphans orphans;
  for (const Instant now : {kNow, kNow + 2 * Orphans::kMayStay}) {
    orphans.look(std::array{ours.pid()}, now);
    EXPECT_EQ(orphans.next_look(), kNever);
  }
  EXPECT_TRUE(other.lives() && ours.lives());
}

TEST(Orphans, GrandchildrenAreAdopted) {
  EXPECT_EXIT(adopt_a_grandchild(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace paravane::keeper
