// MachineProbe: the hardware inventory of this host as the keeper reads it: ethernet/ and rdma/,
// with vendor names, as values of the model.
//
// One thread.

#pragma once

#include <set>
#include <string>
#include <vector>

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
  Result<model::RdmaStats> read_stats(const std::string& device, std::uint32_t port) override;

 private:
  MachineProbeConfig config_;
  PciNames names_;
};

// By PCI address, then what is on none, by name; no more than there may be.
std::vector<model::PhysicalNic> to_control(std::vector<ethernet::Nic> nics, const PciNames& names);
std::vector<model::RdmaDevice> to_control(std::vector<rdma::Port> ports, const PciNames& names);

}  // namespace paravane::keeper
