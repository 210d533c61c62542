// What the engine may still ask the kernel, tried in a child.

#include "daemon/system_calls.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "base/event_signal.h"
#include "base/unique_fd.h"
#include "daemon/inside_filter_test.h"

namespace paravane::daemon {
namespace {

// Not std::thread: a sanitizer looks at its parts with system calls that are not allowed.
pthread_t run(void* (*function)(void*), void* argument) {
  pthread_t thread{};
  if (::pthread_create(&thread, nullptr, function, argument) != 0) _exit(kNoFilter);
  return thread;
}

struct Connector {
  std::atomic<bool> closed{false};
  int error = 0;

  void connect_when_closed() {
    while (!closed) ::sched_yield();
    const UniqueFd local(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const sockaddr_un nobody{.sun_family = AF_UNIX, .sun_path = "/nobody"};
    const auto* generic = reinterpret_cast<const sockaddr*>(&nobody);
    if (::connect(local.get(), generic, sizeof nobody) != 0) error = errno;
  }
};

TEST(SystemCalls, LetsFilesAndSocketsOfItsOwnBe) {
  EXPECT_EXIT(answer_inside([] {
                const UniqueFd file(::memfd_create("pages", MFD_CLOEXEC));
                const UniqueFd local(::socket(AF_UNIX, SOCK_STREAM, 0));
                return file && local && ::ftruncate(file.get(), 4096) == 0;
              }),
              testing::ExitedWithCode(kTrue), "");
}

TEST(SystemCalls, LetsSignalsBeSentThatNeverWait) {
  EXPECT_EXIT(answer_inside([] {
                const UniqueFd raised(::eventfd(0, EFD_NONBLOCK));
                EventSignal signal;
                signal.raise(raised.get());
                std::uint64_t count = 0;
                return signal.is_bounded() &&
                       ::read(raised.get(), &count, sizeof count) == sizeof count && count == 1;
              }),
              testing::ExitedWithCode(kTrue), "");
}

TEST(SystemCalls, HasNoNetwork) {
  for (const int family : {AF_INET, AF_INET6, AF_NETLINK, AF_PACKET}) {
    EXPECT_EXIT(answer_inside([family] {
                  // Streams are what it may have, of another family.
                  return ::socket(family, SOCK_STREAM, 0) < 0 && ::socket(family, SOCK_RAW, 0) < 0;
                }),
                testing::ExitedWithCode(kTrue), "");
  }
}

TEST(SystemCalls, SendsNothingToASocketItIsNotConnectedTo) {
  // A socket of packets, which it may have, sends nothing before it is connected
  // (SystemCallsReach.ByAPacketWithAnAddress).
  EXPECT_EXIT(answer_inside([] { return ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0) < 0; }),
              testing::ExitedWithCode(kTrue), "");
}

TEST(SystemCalls, ConnectsNoMoreOnceItServesInNoThread) {
  EXPECT_EXIT(answer_inside([] {
                Connector early;
                const pthread_t thread = run(
                    [](void* self) -> void* {
                      static_cast<Connector*>(self)->connect_when_closed();
                      return nullptr;
                    },
                    &early);
                const bool ended = end_connecting().has_value();
                early.closed = true;
                pthread_join(thread, nullptr);
                return ended && early.error == EPERM &&
                       ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, nullptr) != 0 &&
                       errno == EPERM;
              }),
              testing::ExitedWithCode(kTrue), "");
}

TEST(SystemCalls, MakesNoFileThatGivesItsRightsToOthers) {
  EXPECT_EXIT(answer_inside([] {
                const std::string file = testing::TempDir() + "system_calls_test.file";
                const UniqueFd made(::open(file.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0700));
                const UniqueFd worse(::open(file.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 04700));
                const bool good = made && !worse && ::chmod(file.c_str(), 02700) != 0 &&
                                  ::fchmod(made.get(), 04700) != 0 &&
                                  ::fchmod(made.get(), 0660) == 0;
                ::unlink(file.c_str());
                return good;
              }),
              testing::ExitedWithCode(kTrue), "");
}

TEST(SystemCalls, LetsNoFileSignalAnybody) {
  EXPECT_EXIT(answer_inside([] {
                const UniqueFd local(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
                return ::fcntl(local.get(), F_GETFL) >= 0 &&
                       ::fcntl(local.get(), F_SETOWN, ::getppid()) != 0 &&
                       ::fcntl(local.get(), F_SETSIG, SIGKILL) != 0;
              }),
              testing::ExitedWithCode(kTrue), "");
}

#ifdef __x86_64__
TEST(SystemCalls, EndsTheProcessThatCallsInAnotherMode) {
  constexpr long kX32 = 0x40000000;
  EXPECT_EXIT(answer_inside([] {
                const auto call = [](void*) -> void* {
                  ::syscall(kX32 | SYS_getpid);
                  return nullptr;
                };
                pthread_join(run(call, nullptr), nullptr);
                return true;
              }),
              testing::KilledBySignal(SIGSYS), "");
}
#endif

TEST(SystemCalls, TurnsNoMemoryIntoCode) {
  EXPECT_EXIT(answer_inside([] {
                constexpr int kAnonymous = MAP_PRIVATE | MAP_ANONYMOUS;
                void* page = ::mmap(nullptr, 4096, PROT_WRITE, kAnonymous, -1, 0);
                return ::mprotect(page, 4096, PROT_READ | PROT_EXEC) != 0 &&
                       ::mmap(nullptr, 4096, PROT_EXEC, kAnonymous, -1, 0) == MAP_FAILED;
              }),
              testing::ExitedWithCode(kTrue), "");
}

TEST(SystemCalls, SignalsNobodyElse) {
  EXPECT_EXIT(answer_inside([] { return ::kill(::getppid(), 0) != 0; }),
              testing::ExitedWithCode(kTrue), "");
  EXPECT_EXIT(answer_inside([]() -> bool { std::abort(); }), testing::KilledBySignal(SIGABRT), "");
}

TEST(SystemCalls, LooksAtLimitsAndChangesNone) {
  EXPECT_EXIT(answer_inside([] {
                rlimit limit{};
                return ::getrlimit(RLIMIT_CORE, &limit) == 0 &&
                       ::setrlimit(RLIMIT_CORE, &limit) != 0;
              }),
              testing::ExitedWithCode(kTrue), "");
}

TEST(SystemCalls, EndsWhoRunsAProgram) {
  EXPECT_EXIT(answer_inside([] { return ::execl("/bin/true", "true", nullptr) != 0; }),
              testing::KilledBySignal(SIGSYS), "");
}

TEST(SystemCalls, EndsWhoWantsToBeRoot) {
  EXPECT_EXIT(answer_inside([] { return ::setuid(0) != 0; }), testing::KilledBySignal(SIGSYS), "");
}

}  // namespace
}  // namespace paravane::daemon
