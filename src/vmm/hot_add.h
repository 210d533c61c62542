// The QMP commands that add one more adapter to a running VM. Function 1, the RDMA device, is
// added before the NIC at function 0: function 0 makes the guest scan the slot, and both must be
// present by then.
//
// Hot removal is not possible: QEMU up to 11.1 aborts when a vfio-user device with MSI-X is
// unplugged.

#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "vmm/adapter_slots.h"

namespace paravane::vmm {

struct QmpCommand {
  std::string name;
  nlohmann::ordered_json arguments;
};

// What the NIC is put on.
struct NicNetwork {
  std::string netdev{};      // the id of a netdev that is there
  std::string tap{};         // or a tap that QEMU opens by itself
  std::string descriptor{};  // or the QMP name of an open tap; none of them: no network
};

// `bus`: a root port (pcie-root-port) with nothing in it.
std::vector<QmpCommand> hot_add_commands(const AdapterSlot& slot, const std::string& bus,
                                         const NicNetwork& network);

// As QMP has it on its line.
std::string print(const QmpCommand& command);

}  // namespace paravane::vmm
