// The PCI slot of an adapter in its VM, and the names that belong to it: QEMU's object ids, the
// tap of the NIC, the device as QEMU's JSON.

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
  std::uint32_t number;   // of the PCI slot; adapters keep theirs when others are taken away
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

// In the order of adapters. REQUIRES: each adapter's mac.
// Errors: kInvalidArgument, if a bus has not so many slots.
Result<std::vector<AdapterSlot>> slots_of(const model::VmStatus& vm, std::uint32_t first_slot);

// Our device for -device or device_add; `address` as in "0.1". Without a bus it is the machine's.
nlohmann::ordered_json device_of(const AdapterSlot& slot, const std::string& bus,
                                 const std::string& address);

// Never fails: bytes that are not UTF-8 are replaced.
std::string print(const nlohmann::ordered_json& value);

// QEMU separates the properties of an option with commas; a doubled one is a comma of
// the value.
std::string escape_commas(const std::string& text);

}  // namespace paravane::vmm
