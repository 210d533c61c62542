// Creates the complete command line of a QEMU that Paravane runs. Each adapter has its own root
// port, because QEMU cannot hot-plug into the main bus of q35. There are also root ports for
// adapters that are added later. QMP and the serial console are sockets in QEMU's working
// directory.
//
// No argument combines two values from outside, and values that could contain a comma are passed as
// JSON. A value from the API can therefore not be interpreted as an option.

#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/lun_disk.h"
#include "model/vm.h"

namespace paravane::vmm {

inline constexpr const char* kQmpSocket = "qmp.sock";
inline constexpr const char* kConsoleSocket = "console.sock";

// What the host provides for the VM.
struct HostFacts {
  bool kvm = false;                     // QEMU's user may use it
  std::map<std::uint32_t, int> taps{};  // open descriptors, by the adapter's number
  model::LunSockets luns{};             // of the VM's disks that are LUNs
};

// The arguments without the program's name. REQUIRES: each adapter's mac is set. Errors:
// kUnsupported (KVM is required but not available), kNotFound (a LUN without a socket).
Result<std::vector<std::string>> machine_arguments(const model::VmStatus& vm,
                                                   const HostFacts& host);

}  // namespace paravane::vmm
