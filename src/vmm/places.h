// Places: the files of the VMs that Paravane runs, and which of these VMs are running.
//
//   BASE/NAME+lock   held by the QEMU of that VM, from before it is started until it ends
//   BASE/NAME+log    QEMU's output, where no service manager collects it; locked (flock) while
//                    a process writes to it (vmm/log_keeper.h)
//   BASE/NAME/       QEMU's working directory: its sockets
//
// BASE and its files belong to the user that starts VMs (root); only the directories BASE/NAME
// belong to QEMU's user, so a compromised QEMU finds no file there that root will write to.
//
// No VM name contains a plus sign. The lock is a record lock (fcntl): it survives execve(), ends
// with its process, and the kernel reports its holder. So a VM cannot be started twice, and no
// process id is ever read from a file.

#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace paravane::vmm {

struct Runner {
  enum class State : std::uint8_t { kOff, kRunning, kUnknown };  // unknown: we may not look
  State state = State::kOff;
  pid_t pid = 0;

  friend bool operator==(const Runner&, const Runner&) = default;
};

class Places {
 public:
  explicit Places(std::string base) : base_(std::move(base)) {}
  // PARAVANE_VM_DIRECTORY, or /run/paravane-vm for root, or below the user's own runtime
  // directory. Errors: kNotFound (the user has none).
  static Result<Places> usual();

  const std::string& base() const { return base_; }
  std::string lock_file(const std::string& vm) const { return base_ + "/" + vm + "+lock"; }
  std::string log_file(const std::string& vm) const { return base_ + "/" + vm + "+log"; }
  std::string directory(const std::string& vm) const { return base_ + "/" + vm; }

  Runner runner(const std::string& vm) const;

  // Makes BASE if need be. The descriptor is inherited by programs; closing any other one
  // of that file gives the lock up. Errors: kBadState (the VM runs), kIo.
  Result<UniqueFd> lock(const std::string& vm) const;

  // Makes QEMU's directory, which only `user` may enter, and opens it. REQUIRES: lock().
  Result<UniqueFd> make_directory(const std::string& vm, uid_t user, gid_t group) const;

  // A new one, for what QEMU says, locked by its descriptor. REQUIRES: lock(). Errors: kIo.
  Result<UniqueFd> make_log(const std::string& vm) const;
  // The last of it, printable, a line each; empty: nothing, or not ours to read. Waits a
  // moment for a process that still writes there. REQUIRES: QEMU has ended.
  std::string log_tail(const std::string& vm) const;

 private:
  std::string base_;
};

}  // namespace paravane::vmm
