// Places manages the files of the VMs that Paravane runs, and determines which of these VMs are
// running:
//
//   BASE/NAME+lock   held by the QEMU of that VM, from before it is started until it ends
//   BASE/NAME+log    QEMU's output, where no service manager collects it; locked (flock) while
//                    a process writes to it (vmm/log_keeper.h)
//   BASE/NAME/       QEMU's working directory: its sockets
//
// BASE and its files belong to the user that starts VMs (root). Only the directories BASE/NAME
// belong to QEMU's user, so a compromised QEMU cannot access a file that root will write to. VM
// names contain no plus sign, so these names cannot collide.
//
// The lock is a record lock (fcntl). It survives execve(), ends with its process, and the kernel
// reports its holder. A VM therefore cannot be started twice, and no process id is read from a
// file.

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
  // BASE is PARAVANE_VM_DIRECTORY if that is set; otherwise /run/paravane-vm for root, or a
  // directory below the user's runtime directory. Errors: kNotFound (the user has no runtime
  // directory).
  static Result<Places> usual();

  const std::string& base() const { return base_; }
  std::string lock_file(const std::string& vm) const { return base_ + "/" + vm + "+lock"; }
  std::string log_file(const std::string& vm) const { return base_ + "/" + vm + "+log"; }
  std::string directory(const std::string& vm) const { return base_ + "/" + vm; }

  Runner runner(const std::string& vm) const;

  // Takes the lock and creates BASE if necessary. Programs inherit the descriptor; closing any
  // other descriptor of the file would release the lock. Errors: kBadState (the VM is running),
  // kIo.
  Result<UniqueFd> lock(const std::string& vm) const;

  // Creates QEMU's directory, which only `user` may enter, and opens it. REQUIRES: lock().
  Result<UniqueFd> make_directory(const std::string& vm, uid_t user, gid_t group) const;

  // Creates a new log for QEMU's output, locked through its descriptor. REQUIRES: lock(). Errors:
  // kIo.
  Result<UniqueFd> make_log(const std::string& vm) const;
  // The last lines of the log, without unprintable characters; empty: there are none, or we may not
  // read it. Waits a moment for a process that is still writing. REQUIRES: QEMU has ended.
  std::string log_tail(const std::string& vm) const;

 private:
  std::string base_;
};

}  // namespace paravane::vmm
