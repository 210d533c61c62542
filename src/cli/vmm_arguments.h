// What a VMM must be told to give a VM its adapter: shared guest memory, a
// vmxnet3 NIC at function 0 of a PCI slot, and our device at function 1, where
// the guest's driver looks for it.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "control/vm.h"

namespace paravane::cli {

struct VmmOptions {
  std::string netdev{};        // id of a -netdev that the user makes; or
  std::string tap{};           // a tap device to use (default: tap_name())
  std::string bridge = "br0";  // libvirt
  std::string memory = "1G";
  std::uint32_t slot = 0x10;
};

// The tap of a VM when none is named: at most 15 characters, as Linux demands.
std::string tap_name(const std::string& vm);

// Guest memory as QEMU takes it: a number and K, M, G or T (none: M). In bytes.
// Errors: kInvalidArgument.
Result<std::uint64_t> parse_memory(const std::string& text);

// The words of QEMU's command line. REQUIRES: vm.spec.mac.
Result<std::vector<std::string>> qemu_arguments(const control::VmStatus& vm,
                                                const VmmOptions& options);

// The elements of a libvirt domain. REQUIRES: vm.spec.mac.
Result<std::string> libvirt_xml(const control::VmStatus& vm, const VmmOptions& options);

// One word for a POSIX shell.
std::string shell_quote(const std::string& word);

}  // namespace paravane::cli
