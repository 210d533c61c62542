#include "vmm/account.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <grp.h>
#include <pwd.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "base/unique_fd.h"

namespace paravane::vmm {
namespace {

constexpr const char* kUser = "paravane-vm";

// A process that shares its terminal with a shell can type there (TIOCSTI), and the shell may be
// root's. Output to it, and its Ctrl-C, arrive as before. A session leader shares it with no
// shell.
void leave_terminal() {
  if (::getsid(0) == ::getpid()) return;
  const UniqueFd terminal(::open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC));
  if (terminal) ::ioctl(terminal.get(), TIOCNOTTY);
}

}  // namespace

// NOLINTBEGIN(concurrency-mt-unsafe): this program has one thread
std::string qemu_user() {
  const char* named = std::getenv("PARAVANE_VM_USER");
  return named == nullptr || *named == '\0' ? kUser : named;
}

Result<Account> qemu_account() {
  if (::geteuid() != 0) {
    const passwd* self = ::getpwuid(::geteuid());
    return Account{.name = self == nullptr ? fmt::format("user {}", ::geteuid()) : self->pw_name,
                   .user = ::geteuid(),
                   .group = ::getegid()};
  }
  const std::string name = qemu_user();
  const passwd* entry = ::getpwnam(name.c_str());
  if (entry == nullptr) {
    return fail(Errc::kNotFound, fmt::format("user {}, which runs QEMU, does not exist", name));
  }
  if (entry->pw_uid == 0) {
    return fail(Errc::kInvalidArgument, "PARAVANE_VM_USER is root, but QEMU must not run as root");
  }
  return Account{.name = name, .user = entry->pw_uid, .group = entry->pw_gid};
}
// NOLINTEND(concurrency-mt-unsafe)

Status become(const Account& account) {
  const auto failed = [&account] {
    return fail_by_system(Errc::kIo, fmt::format("QEMU cannot become {}", account.name), errno);
  };
  leave_terminal();
  if (::geteuid() == 0) {
    if (::initgroups(account.name.c_str(), account.group) != 0) return failed();
    if (::setresgid(account.group, account.group, account.group) != 0) return failed();
    if (::setresuid(account.user, account.user, account.user) != 0) return failed();
  }
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return failed();
  return {};
}

}  // namespace paravane::vmm
