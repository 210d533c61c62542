// HcaChoice is the RDMA adapter (host channel adapter) that channels to other hosts go over.
//
// As in vSphere, an adapter is used for PVRDMA if its NIC is the only uplink of the switch that the
// tagged VMkernel interface is in. The management's interface, vmk0, is in no switch: its adapter
// is that of the NIC that has its address.
//
// Any thread.

#pragma once

#include <cstdint>
#include <string>

#include "model/machine.h"

namespace paravane::host {

struct HcaChoice {
  std::string device{};  // Linux's name: "mlx5_0"; empty: none
  std::uint32_t port = 1;
  std::string address{};  // of the VMkernel interface
  std::string why{};      // the reason, if no adapter is used

  friend bool operator==(const HcaChoice&, const HcaChoice&) = default;
};

// Where the channel leaves the host.
struct ChannelNic {
  std::string linux_name{};  // of the NIC; empty: the switch has no uplink, or it is not known
  std::string vds{};         // the interface's switch; empty for vmk0, which is in none
  std::string address{};     // of the VMkernel interface
};

HcaChoice choose_hca(const ChannelNic& nic, const model::Machine& machine);

}  // namespace paravane::host
