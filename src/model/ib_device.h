// IbDevice: a model of InfiniBand adapter. The models are those of table 2 of Mellanox's InfiniBand
// OFED Driver for VMware, Installation Guide, Rev. 1.30. A virtual adapter is added as one of them,
// and has its ports, its speed, its greatest MTU and its number of partitions.
//
// Plain values and pure functions; any thread.

#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace paravane::model {

struct IbDevice {
  std::string_view name;         // "MT26428"
  std::string_view description;  // "ConnectX IB QDR, PCIe 2.0 5.0GT/s"
  std::uint16_t pci_device;      // its number on PCI
  std::uint32_t ports;
  std::uint32_t rate_gbps;   // of four lanes
  std::uint32_t mtu;         // bytes of a packet's payload
  std::uint32_t partitions;  // guide, 4.4.2.4
  bool can_be_ethernet;      // VPI: the type of a port can be chosen
  bool is_connectx;          // not: InfiniHost III
};

std::span<const IbDevice> ib_devices();
std::optional<IbDevice> find_ib_device(std::string_view name);
// "MT25408, MT25418, ...".
std::string ib_device_names();

}  // namespace paravane::model
