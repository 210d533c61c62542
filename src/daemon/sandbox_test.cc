// What the engine may still do, tried in a child that enters the sandbox. Not in builds
// with sanitizers: these filter nothing.

#include "daemon/sandbox.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <functional>
#include <thread>

#include "base/unique_fd.h"

namespace paravane::daemon {
namespace {

constexpr int kTrue = 10;
constexpr int kFalse = 11;
constexpr int kNoSandbox = 12;

// Ends the child with the answer; as whoever runs the test, without a change of user.
[[noreturn]] void answer_inside(pid_t parent, const std::function<bool()>& question) {
  if (!enter_sandbox(EngineAccount{}, SandboxConfig{}, parent)) _exit(kNoSandbox);
  _exit(question() ? kTrue : kFalse);
}

class Sandbox : public testing::Test {
 protected:
  const pid_t parent_ = ::getpid();
};

TEST_F(Sandbox, LetsThreadsFilesAndSocketsOfItsOwnBe) {
  EXPECT_EXIT(answer_inside(parent_,
                            [] {
                              bool ran = false;
                              std::thread([&ran] { ran = true; }).join();
                              const UniqueFd file(::memfd_create("pages", MFD_CLOEXEC));
                              const UniqueFd local(::socket(AF_UNIX, SOCK_STREAM, 0));
                              return ran && file && local && ::ftruncate(file.get(), 4096) == 0;
                            }),
              testing::ExitedWithCode(kTrue), "");
}

TEST_F(Sandbox, HasNoNetwork) {
  for (const int family : {AF_INET, AF_INET6, AF_NETLINK, AF_PACKET}) {
    EXPECT_EXIT(answer_inside(parent_, [family] { return ::socket(family, SOCK_RAW, 0) < 0; }),
                testing::ExitedWithCode(kTrue), "");
  }
}

TEST_F(Sandbox, TurnsNoMemoryIntoCode) {
  EXPECT_EXIT(answer_inside(parent_,
                            [] {
                              constexpr int kAnonymous = MAP_PRIVATE | MAP_ANONYMOUS;
                              void* page = ::mmap(nullptr, 4096, PROT_WRITE, kAnonymous, -1, 0);
                              return ::mprotect(page, 4096, PROT_READ | PROT_EXEC) != 0 &&
                                     ::mmap(nullptr, 4096, PROT_EXEC, kAnonymous, -1, 0) ==
                                         MAP_FAILED;
                            }),
              testing::ExitedWithCode(kTrue), "");
}

TEST_F(Sandbox, SignalsNobodyElse) {
  EXPECT_EXIT(answer_inside(parent_, [this] { return ::kill(parent_, 0) != 0; }),
              testing::ExitedWithCode(kTrue), "");
  EXPECT_EXIT(answer_inside(parent_, []() -> bool { std::abort(); }),
              testing::KilledBySignal(SIGABRT), "");
}

TEST_F(Sandbox, LooksAtLimitsAndChangesNone) {
  EXPECT_EXIT(answer_inside(parent_,
                            [] {
                              rlimit limit{};
                              return ::getrlimit(RLIMIT_CORE, &limit) == 0 &&
                                     ::setrlimit(RLIMIT_CORE, &limit) != 0;
                            }),
              testing::ExitedWithCode(kTrue), "");
}

TEST_F(Sandbox, EndsWhoRunsAProgram) {
  EXPECT_EXIT(answer_inside(parent_, [] { return ::execl("/bin/true", "true", nullptr) != 0; }),
              testing::KilledBySignal(SIGSYS), "");
}

TEST_F(Sandbox, EndsWhoWantsToBeRoot) {
  EXPECT_EXIT(answer_inside(parent_, [] { return ::setuid(0) != 0; }),
              testing::KilledBySignal(SIGSYS), "");
}

}  // namespace
}  // namespace paravane::daemon
