// Creates the QMP commands that add an adapter to a running VM. The RDMA device at function 1 is
// added before the NIC at function 0, because the guest scans the slot when function 0 is added,
// and both functions must be present by then.
//
// Hot removal is not possible, because QEMU up to 11.1 aborts when a vfio-user device with MSI-X is
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

// The network to which the NIC is connected.
struct NicNetwork {
  std::string netdev{};      // the id of a netdev that is there
  std::string tap{};         // or a tap that QEMU opens by itself
  std::string descriptor{};  // or the QMP name of an open tap; none of them: no network
};

// `bus`: an empty root port (pcie-root-port).
std::vector<QmpCommand> hot_add_commands(const AdapterSlot& slot, const std::string& bus,
                                         const NicNetwork& network);

// The command as one line of QMP.
std::string print(const QmpCommand& command);

}  // namespace paravane::vmm
