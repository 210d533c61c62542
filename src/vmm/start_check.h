// Checks requirements for powering on a VM that only the process that starts the VM's QEMU can
// check. This is the second part of `paravane vm check`. The first part is model/vm_check.h.
//
// One function gathers the facts. If QEMU runs as a different user, the facts are gathered as that
// user. Another function, which is pure, evaluates the facts.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/check_row.h"
#include "model/lun_disk.h"
#include "model/vm.h"
#include "vmm/account.h"
#include "vmm/file_check.h"
#include "vmm/places.h"

namespace paravane::vmm {

struct StartFacts {
  std::string qemu{};                 // the program
  std::string qemu_version{};         // "11.1"; empty: none that will do
  std::string qemu_problem{};         // why
  std::optional<Account> account{};   // whose QEMU is
  Error account_problem{};            // without `account`; kInvalidArgument: it is root
  std::string user{};                 // the user that QEMU should run as
  Runner runner{};                    // of those that we run, whether it does
  std::optional<FileProblem> file{};  // that QEMU's user may not open
  bool kvm_there = false;             // /dev/kvm is
  std::string kvm_group{};            // which may use it; empty: none
  bool kvm = false;                   // QEMU's user may use it
  bool may_lock = true;               // as much memory as it wants
  std::uint64_t memory_mib = 0;       // that are left; 0: not known
  std::string memory_of{};            // "the host", or a cgroup
  std::uint64_t huge_pages = 0;       // of 2 MiB, that are free
  // LUNs of this host; nullopt: not known, and those of the VM are not checked.
  std::optional<std::vector<model::ScsiDevice>> luns{};
};

// Takes about 0.2 s, or up to a minute if the program is not QEMU. `cgroup`: the cgroup below which
// the VM will run; empty: ours.
// `luns`: as the daemon lists them.
StartFacts gather_start_facts(const model::VmStatus& vm, const std::string& cgroup,
                              std::optional<std::vector<model::ScsiDevice>> luns = std::nullopt);

std::vector<model::CheckRow> check_start(const model::VmStatus& vm, const StartFacts& facts);

}  // namespace paravane::vmm
