// Assigns to each adapter of a VM a PCI slot, and the names that QEMU uses for the parts of the
// adapter. These names are object ids and the name of the NIC's tap. It also describes the RDMA
// device as JSON for QEMU.

#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/vm.h"

namespace paravane::vmm {

inline constexpr std::uint32_t kFirstSlot = 0x10;  // of adapter 1

struct AdapterSlot {
  std::uint32_t adapter;  // its number
  std::uint32_t number;   // of the PCI slot; it stays when other adapters are removed
  std::string mac;
  std::string socket;
  std::string netdev_id;  // of a -netdev that we make
  std::string nic_id;
  std::string device_id;
  std::string port_id;  // of a root port of its own, in VMs that we run
  std::string tap;
  bool in_port_group;  // then the tap is there
};

// Whether the daemon's response about a VM is safe to use: the engine, which answers, may be
// compromised, and the caller may be root. Errors: kInvalidArgument.
Status check_answer(const model::VmStatus& vm);

// The slots in the order of adapters. REQUIRES: each adapter's mac is set. Errors: kInvalidArgument
// (a bus does not have that many slots).
Result<std::vector<AdapterSlot>> slots_of(const model::VmStatus& vm, std::uint32_t first_slot);

// The RDMA device for -device or device_add. `address`: for example "0.1". `bus` empty: the
// machine's bus.
nlohmann::ordered_json device_of(const AdapterSlot& slot, const std::string& bus,
                                 const std::string& address);

// Never fails: bytes that are not UTF-8 are replaced.
std::string print(const nlohmann::ordered_json& value);

// Doubles each comma, because QEMU separates the properties of an option with single commas.
std::string escape_commas(const std::string& text);

}  // namespace paravane::vmm
