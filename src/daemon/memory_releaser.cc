#include "daemon/memory_releaser.h"

#include <fmt/core.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <utility>

#include "base/unique_fd.h"
#include "keeper/orphans.h"

// By this name, sanitizers do not take the new process for a fork, which has memory of its own.
// NOLINTNEXTLINE(bugprone-reserved-identifier,readability-identifier-naming): the C library's name
extern "C" int __clone(int (*run)(void*), void* stack, int flags, void* argument, ...);

#if defined(__clang__)
#define PARAVANE_ON_ANOTHER_STACK [[clang::disable_sanitizer_instrumentation]]
#else
#define PARAVANE_ON_ANOTHER_STACK
#endif

namespace paravane::daemon {
namespace {

struct Orders {
  int line;
  sock_fprog filter;
};

constexpr std::size_t kStackBytes = 16 << 10;

UniqueFd& own_end() {
  static UniqueFd end;
  return end;
}

// It has the thread-local variables of the thread that has made it, so it may call nothing that
// uses them: of the C library only syscall(), which sets errno where it fails. Until the byte is
// sent that thread waits; what is called afterwards does not fail.
PARAVANE_ON_ANOTHER_STACK int release(void* argument) {
  const auto& orders = *static_cast<const Orders*>(argument);
  const int line = orders.line;
  char byte = 0;
  const bool is_ready =
      ::syscall(SYS_prctl, PR_SET_NAME, keeper::kReleasersName, 0UL, 0UL, 0UL) == 0 &&
      (line == 0 || ::syscall(SYS_close_range, 0U, line - 1, 0U) == 0) &&
      ::syscall(SYS_close_range, line + 1, ~0U, 0U) == 0 &&
      (orders.filter.len == 0 ||
       ::syscall(SYS_prctl, PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &orders.filter, 0UL, 0UL) == 0) &&
      ::syscall(SYS_write, line, &byte, 1UL) == 1;
  // The other end is the engine's alone, and is closed when all its threads have left the memory.
  while (is_ready && ::syscall(SYS_read, line, &byte, 1UL) > 0) continue;
  ::syscall(SYS_exit, 0L);
  return 0;
}

std::unexpected<Error> cannot_start(int error) {
  return fail_by_system(Errc::kIo, "cannot start the process that releases the engine's memory",
                        error);
}

}  // namespace

Status start_memory_releaser(std::span<const sock_filter> filter) {
  alignas(16) static std::array<std::byte, kStackBytes> stack;  // as long as the memory
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return cannot_start(errno);
  }
  UniqueFd ours(ends[0]);
  UniqueFd theirs(ends[1]);
  Orders orders{.line = theirs.get(),
                .filter = {.len = static_cast<unsigned short>(filter.size()),
                           // The kernel reads it.
                           .filter = const_cast<sock_filter*>(filter.data())}};
  const int process = __clone(release, stack.data() + stack.size(), CLONE_VM | SIGCHLD, &orders);
  if (process < 0) return cannot_start(errno);
  theirs.reset();
  char byte = 0;
  ssize_t count = 0;
  while ((count = ::read(ours.get(), &byte, 1)) < 0 && errno == EINTR) continue;
  if (count != 1) {
    const int error = errno;  // of its last call
    ::waitpid(process, nullptr, 0);
    return cannot_start(error);
  }
  own_end() = std::move(ours);
  return {};
}

// Of the kernel, a process leaves its memory before its descriptors are closed.
void end_memory_releaser() {
  const UniqueFd line = std::move(own_end());
  if (!line || ::shutdown(line.get(), SHUT_WR) != 0) return;
  char byte = 0;
  while (::read(line.get(), &byte, 1) < 0 && errno == EINTR) continue;
}

}  // namespace paravane::daemon
