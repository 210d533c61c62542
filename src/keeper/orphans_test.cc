#include "keeper/orphans.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>

namespace paravane::keeper {
namespace {

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
  bury_orphans({});
  for (const pid_t gone : {one, other}) EXPECT_EQ(::waitpid(gone, nullptr, WNOHANG), -1);
}

TEST(Orphans, OursAreLeftToThoseThatWaitForThem) {
  const std::array ours{ended_child()};
  bury_orphans(ours);
  EXPECT_EQ(::waitpid(ours[0], nullptr, WNOHANG), ours[0]);
}

TEST(Orphans, LiveOnesAreNotWaitedFor) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::pause();
    ::_exit(0);
  }
  bury_orphans({});
  ::kill(child, SIGKILL);
  EXPECT_EQ(::waitpid(child, nullptr, 0), child);
}

TEST(Orphans, GrandchildrenAreAdopted) {
  EXPECT_EXIT(adopt_a_grandchild(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace paravane::keeper
