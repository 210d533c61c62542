#include "vmm/log_keeper.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <string>

namespace paravane::vmm {
namespace {

std::unexpected<Error> cannot_start() {
  return fail_by_system(Errc::kIo, "cannot start its log writer", errno);
}

// Of `size` bytes the last `keep`, from the start of a line; returns how many these are.
std::size_t drop_older(int log, std::size_t size, std::size_t keep) {
  std::string text(keep, '\0');
  const ssize_t count = ::pread(log, text.data(), text.size(), static_cast<off_t>(size - keep));
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
  if (const std::size_t line = text.find('\n'); line != std::string::npos) text.erase(0, line + 1);
  const ssize_t kept = ::pwrite(log, text.data(), text.size(), 0);
  const std::size_t left = static_cast<std::size_t>(std::max<ssize_t>(kept, 0));
  return ::ftruncate(log, static_cast<off_t>(left)) == 0 ? left : size;
}

// Its standard descriptors are the two that it needs; the file's lock comes along.
[[noreturn]] void be_keeper(int from, int log, const Account& account) {
  const bool ready = ::dup2(from, STDIN_FILENO) >= 0 && ::dup2(log, STDOUT_FILENO) >= 0 &&
                     ::close_range(STDERR_FILENO, UINT_MAX, 0) == 0 && ::chdir("/") == 0;
  if (ready && become(account)) carry_log(STDIN_FILENO, STDOUT_FILENO, kMaxLogBytes);
  ::_exit(0);
}

}  // namespace

void carry_log(int from, int log, std::size_t most) {
  std::array<char, 4096> bytes;
  std::size_t size = 0;
  for (;;) {
    const ssize_t count = ::read(from, bytes.data(), std::min(bytes.size(), most / 2));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return;
    if (size + static_cast<std::size_t>(count) > most) size = drop_older(log, size, most / 2);
    // On a full file system it is lost: QEMU must not wait for us.
    const ssize_t kept =
        ::pwrite(log, bytes.data(), static_cast<std::size_t>(count), static_cast<off_t>(size));
    size += static_cast<std::size_t>(std::max<ssize_t>(kept, 0));
  }
}

Result<UniqueFd> keep_log(const UniqueFd& log, const Account& account) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return cannot_start();
  const UniqueFd out(ends[0]);
  UniqueFd in(ends[1]);
  const pid_t between = ::fork();  // it exits, so the log's process has no parent here
  if (between < 0) return cannot_start();
  if (between == 0) {
    const pid_t keeper = ::fork();
    if (keeper == 0) be_keeper(out.get(), log.get(), account);
    ::_exit(keeper < 0 ? errno : 0);
  }
  int status = 0;
  if (::waitpid(between, &status, 0) != between) return cannot_start();
  errno = WIFEXITED(status) ? WEXITSTATUS(status) : EINTR;
  if (errno != 0) return cannot_start();
  return in;
}

}  // namespace paravane::vmm
