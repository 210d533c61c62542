// Creates the QEMU arguments for the adapters of a VM that Paravane does not run. The arguments set
// up shared guest memory and, for each adapter, a PCI slot with a vmxnet3 NIC at function 0 and the
// RDMA device at function 1, where the guest's driver looks for it.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/lun_disk.h"
#include "model/vm.h"
#include "vmm/adapter_slots.h"

namespace paravane::vmm {

struct VmmOptions {
  // One for each adapter, or none.
  std::vector<std::string> netdevs{};  // ids of -netdevs that the user makes; or
  std::vector<std::string>
      taps{};  // tap devices to use (default: the port group's, or model::tap_name())
  std::string bridge = "br0";           // libvirt, for adapters without a port group
  std::optional<std::string> memory{};  // unset: the VM's
  std::uint32_t slot = kFirstSlot;      // of adapter 1; adapter 2 has the next, and so on
  std::string emulator{};               // libvirt; empty: its own choice
  model::LunSockets luns{};             // libvirt: of the VM's disks that are LUNs
};

// Parses a size of guest memory in QEMU's format, a number and K, M, G or T (default: M). Returns
// bytes. Errors: kInvalidArgument.
Result<std::uint64_t> parse_memory(const std::string& text);

// The same for the memory of a whole VM. Less than 64 MiB is refused: Linux does not boot in it,
// and most users who write "4" mean 4G. Errors: kInvalidArgument, with a suggestion.
Result<std::uint64_t> parse_vm_memory(const std::string& text);

// The memory size from the options or, if they have none, from the VM. Errors: kInvalidArgument.
Result<std::uint64_t> memory_of(const model::VmMachine& machine, const VmmOptions& options);

// Checks the name of a network interface that `option` contains. Errors: kInvalidArgument.
Status check_interface(std::string_view option, const std::string& name);

// The words of QEMU's command line. REQUIRES: each adapter's mac is set.
Result<std::vector<std::string>> qemu_arguments(const model::VmStatus& vm,
                                                const VmmOptions& options);

// One word for a POSIX shell.
std::string shell_quote(const std::string& word);

}  // namespace paravane::vmm
