// MachineProbe, used by the keeper, reads the hardware inventory of this host. It combines the NICs
// from ethernet/, the RDMA devices from rdma/ and the vendor names from PciNames, and returns them
// as the values of model/machine.h.
//
// One thread.

#pragma once

#include <set>
#include <string>
#include <vector>

#include "ethernet/nic_dcb.h"
#include "ethernet/nics.h"
#include "keeper/pci_names.h"
#include "privsep/machine_looker.h"
#include "rdma/device.h"

namespace paravane::keeper {

struct MachineProbeConfig {
  std::set<std::string>
      uplinks;                  // NICs that an operator has given; also those that are no hardware
  std::string cluster_address;  // whose NIC is listed too; empty: none
};

class MachineProbe final : public privsep::MachineLooker {
 public:
  explicit MachineProbe(MachineProbeConfig config) : config_(std::move(config)) {}

  Result<model::Machine> look() override;
  Result<model::NicDcb> read_dcb(const std::string& nic) override;
  Result<model::RdmaStats> read_stats(const std::string& device, std::uint32_t port) override;

 private:
  MachineProbeConfig config_;
  PciNames names_;
};

// Converts the devices to the model's values, up to the model's limit. Devices on PCI come first,
// by address, then the others, by name.
std::vector<model::PhysicalNic> to_control(std::vector<ethernet::Nic> nics, const PciNames& names);
model::NicDcb to_control(const ethernet::NicDcb& dcb);
std::vector<model::RdmaDevice> to_control(std::vector<rdma::Port> ports, const PciNames& names);

}  // namespace paravane::keeper
