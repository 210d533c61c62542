#include "vmm/account.h"

#include <gtest/gtest.h>
#include <pwd.h>
#include <unistd.h>

#include "vmm/own_terminal_test.h"

namespace paravane::vmm {
namespace {

// Root becomes somebody without rights; who is not stays who it is.
Account somebody() {
  const uid_t self = ::geteuid();
  const passwd* entry = self == 0 ? ::getpwnam("nobody") : ::getpwuid(self);
  return {.name = entry->pw_name, .user = entry->pw_uid, .group = entry->pw_gid};
}

// Whether it is that user without a terminal, as an exit status.
int become_somebody() {
  const Account account = somebody();
  if (!become(account) || ::getuid() != account.user) return 1;
  return OwnTerminal::is_there() ? 2 : 0;
}

TEST(Account, HasNoTerminalOfAShell) {
  EXPECT_EQ(OwnTerminal().in_job(become_somebody), 0);
}

TEST(Account, KeepsATerminalThatNoShellHas) {
  EXPECT_EQ(OwnTerminal().in_leader(become_somebody), 2);
}

}  // namespace
}  // namespace paravane::vmm
