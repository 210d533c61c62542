// The complete command line of a QEMU that Paravane runs. Each adapter, including those that the
// VM may get later, has a root port of its own, since QEMU cannot hot-plug into q35's own bus. QMP
// and the serial console are sockets in QEMU's working directory.
//
// No argument combines two values from outside, and values that could contain a comma are passed
// as JSON: nothing from the API can become an option that it was not meant to be.

#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/vm.h"

namespace paravane::vmm {

inline constexpr const char* kQmpSocket = "qmp.sock";
inline constexpr const char* kConsoleSocket = "console.sock";

// What the host has for it.
struct HostFacts {
  bool kvm = false;                     // QEMU's user may use it
  std::map<std::uint32_t, int> taps{};  // open descriptors, by the adapter's number
};

// Without the program's name. REQUIRES: each adapter's mac.
// Errors: kUnsupported (KVM is wanted and not there).
Result<std::vector<std::string>> machine_arguments(const model::VmStatus& vm,
                                                   const HostFacts& host);

}  // namespace paravane::vmm
