#include "keeper/machine_probe.h"

#include <fmt/core.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "rdma/devices.h"

namespace paravane::keeper {
namespace {

// What has a PCI address stands before what has none.
template <typename Key>
auto order_of(const std::string& pci, const Key& key) {
  return std::tuple(pci.empty(), pci, key);
}

// A card is its place; one of several on a place is the address it was made with; what
// is no hardware is its name.
std::string identity_of(const ethernet::Nic& nic, bool alone) {
  if (!nic.pci.empty() && alone) return "pci " + nic.pci;
  if (!nic.own_mac.empty()) return "mac " + nic.own_mac;
  return "name " + nic.name;
}

std::string describe(const ethernet::Nic& nic, const PciNames& names) {
  const auto [vendor, device] = names.find(nic.pci);
  const std::string& what = nic.kind.empty() ? nic.driver : nic.kind;
  std::string text = device.empty() ? what : fmt::format("{} {}", vendor, device);
  return fmt::format("{}{}({})", text, text.empty() ? "" : " ", nic.name);
}

}  // namespace

std::vector<model::PhysicalNic> to_control(std::vector<ethernet::Nic> nics, const PciNames& names) {
  std::ranges::sort(nics, {}, [](const ethernet::Nic& nic) { return order_of(nic.pci, nic.name); });
  if (nics.size() > model::kMaxNics) nics.resize(model::kMaxNics);
  std::vector<model::PhysicalNic> list;
  for (const ethernet::Nic& nic : nics) {
    const bool alone = std::ranges::count(nics, nic.pci, &ethernet::Nic::pci) == 1;
    std::string identity = identity_of(nic, alone);
    const bool taken =  // two with the same address, as of a maker without care
        std::ranges::find(list, identity, &model::PhysicalNic::identity) != list.end();
    if (taken) identity = "name " + nic.name;
    list.push_back({.name = "",
                    .identity = std::move(identity),
                    .linux_name = nic.name,
                    .pci = nic.pci,
                    .driver = nic.driver,
                    .mac = nic.mac,
                    .description = describe(nic, names),
                    .team = nic.team,
                    .mtu = nic.mtu,
                    .speed_mbps = nic.speed_mbps,
                    .full_duplex = nic.full_duplex,
                    .up = nic.up,
                    .carrier = nic.carrier});
  }
  return list;
}

std::vector<model::RdmaDevice> to_control(std::vector<rdma::Port> ports, const PciNames& names) {
  std::ranges::sort(ports, {}, [](const rdma::Port& port) {
    return order_of(port.pci, std::pair(port.device, port.number));
  });
  if (ports.size() > model::kMaxRdmaDevices) ports.resize(model::kMaxRdmaDevices);
  std::vector<model::RdmaDevice> list;
  for (const rdma::Port& port : ports) {
    const std::string place = port.pci.empty() ? "name " + port.device : "pci " + port.pci;
    const std::string maker = names.find(port.pci).device;
    list.push_back({.name = "",
                    .identity = fmt::format("{} port {}", place, port.number),
                    .linux_name = port.device,
                    .port = port.number,
                    .driver = port.driver,
                    .description = maker.empty() ? port.device : maker,
                    .link_layer = port.link_layer,
                    .state = static_cast<model::RdmaState>(port.state),
                    .mtu = port.mtu,
                    .speed_mbps = port.speed_mbps,
                    .paired_link = port.net_device,
                    .paired_uplink = "",
                    .roce_v1 = port.roce_v1,
                    .roce_v2 = port.roce_v2,
                    .iwarp = port.iwarp});
  }
  return list;
}

Result<model::Machine> MachineProbe::look() {
  std::vector<rdma::Port> ports = rdma::list_ports();
  // A NIC that an RDMA device is paired with is listed, hardware or not.
  std::set<std::string> named = config_.uplinks;
  for (const rdma::Port& port : ports) named.insert(port.net_device);
  auto nics = ethernet::list_nics(named, config_.cluster_address);
  if (!nics) return std::unexpected(nics.error());
  return model::Machine{.nics = to_control(std::move(*nics), names_),
                        .rdma_devices = to_control(std::move(ports), names_)};
}

Result<model::RdmaStats> MachineProbe::read_stats(const std::string& device, std::uint32_t port) {
  auto counters = rdma::read_counters(device, port);
  if (!counters) return std::unexpected(counters.error());
  return model::RdmaStats{.name = "",
                          .counters = std::move(counters->counters),
                          .hw_counters = std::move(counters->hw_counters),
                          .resources = std::move(counters->resources)};
}

}  // namespace paravane::keeper
