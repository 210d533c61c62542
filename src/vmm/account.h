// The account that QEMU runs as when root starts it: a dedicated user, in its own groups, without
// privileges.

#pragma once

#include <sys/types.h>

#include <string>

#include "base/result.h"

namespace paravane::vmm {

struct Account {
  std::string name;
  uid_t user = 0;
  gid_t group = 0;
};

// The name of root's one: PARAVANE_VM_USER, or paravane-vm.
std::string qemu_user();
// That user; without root's rights, the current user.
// Errors: kNotFound, kInvalidArgument (root).
Result<Account> qemu_account();

// For good, and without a terminal that a shell has. Without root's rights, the user does not
// change. Errors: kIo.
Status become(const Account& account);

}  // namespace paravane::vmm
