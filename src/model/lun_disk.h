// Rules for LUNs as disks of VMs (Disk::lun): which VM has a LUN, and whether a VM can be started
// with it.
//
// A LUN is the disk of one VM of a host at most: two guests that write to one file system destroy
// it. The configuration alone decides, whether the VMs run or not.
//
// Pure functions; any thread.

#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/api_error.h"
#include "model/storage.h"
#include "model/vm.h"

namespace paravane::model {

// Whether a VM may have the LUNs that it has. `vms`: those of this host; the one of the same name
// is passed over, as it is the VM before a change. Errors: kInUse, with the LUN and the other VM.
ApiResult<void> check_luns(const VmSpec& vm, std::span<const VmSpec> vms);

struct LunProblem {
  std::string lun{};
  std::string text{};  // "LUN naa.6001405...: no path to it works"
  std::string cure{};  // a command, or what to do

  friend bool operator==(const LunProblem&, const LunProblem&) = default;
};

// What speaks against a start of the VM with its LUNs: one that is not there, has no working path,
// cannot be used, is another VM's, or is in use; one that is read-only and is wanted to be written.
// In the order of the disks. REQUIRES: the VM does not run.
std::vector<LunProblem> lun_problems(const VmSpec& vm, std::span<const ScsiDevice> devices);

// Where each LUN is served by NBD, by its name.
using LunSockets = std::map<std::string, std::string>;
// Those of the VM's LUNs. `directory`: that of the sockets of VMs, for a LUN that is not there now
// or not served: then it is where it would be (lun_socket()).
LunSockets lun_sockets(const VmSpec& vm, std::span<const ScsiDevice> devices,
                       std::string_view directory);
bool has_luns(const VmSpec& vm);

}  // namespace paravane::model
