// Determines the account that QEMU runs as, and switches to it. If root starts the VM, this account
// is a dedicated user without privileges, in its own groups. Otherwise, it is the current user.

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

// The name of the dedicated user: PARAVANE_VM_USER, or paravane-vm.
std::string qemu_user();
// The dedicated user or, without root's rights, the current user. Errors: kNotFound,
// kInvalidArgument (the dedicated user is root).
Result<Account> qemu_account();

// Switches this process to the account permanently and detaches it from a shell's terminal. Without
// root's rights, the user does not change. Errors: kIo.
Status become(const Account& account);

}  // namespace paravane::vmm
