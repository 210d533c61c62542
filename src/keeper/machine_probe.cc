#include "keeper/machine_probe.h"

#include <fmt/core.h>
#include <linux/dcbnl.h>

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

model::PauseDirections to_control(const ethernet::PauseDirections& directions) {
  return {.rx = directions.rx, .tx = directions.tx};
}

std::optional<model::NicPause> to_control(const std::optional<ethernet::NicPause>& pause) {
  if (!pause) return std::nullopt;
  using Directions = std::optional<model::PauseDirections>;
  return model::NicPause{
      .set = to_control(pause->set),
      .auto_negotiation = pause->auto_negotiation,
      .negotiated = pause->negotiated ? Directions(to_control(*pause->negotiated)) : std::nullopt};
}

model::DcbEts to_control(const ethernet::DcbEts& ets) {
  return {.willing = ets.willing,
          .classes = ets.classes,
          .credit_based_shaper = ets.credit_based_shaper,
          .tx_percent = ets.tx_percent,
          .rx_percent = ets.rx_percent,
          .algorithms = ets.algorithms,
          .class_of_priority = ets.class_of_priority,
          .recommended_percent = ets.recommended_percent,
          .recommended_algorithms = ets.recommended_algorithms,
          .recommended_class_of_priority = ets.recommended_class_of_priority};
}

model::DcbPfc to_control(const ethernet::DcbPfc& pfc) {
  return {.classes = pfc.classes,
          .priorities = pfc.priorities,
          .bypasses_macsec = pfc.bypasses_macsec,
          .delay = pfc.delay,
          .sent = pfc.sent,
          .received = pfc.received};
}

model::DcbSelector selector_of(std::uint8_t selector) {
  switch (selector) {
    case IEEE_8021QAZ_APP_SEL_ETHERTYPE: return model::DcbSelector::kEthertype;
    case IEEE_8021QAZ_APP_SEL_STREAM: return model::DcbSelector::kTcp;
    case IEEE_8021QAZ_APP_SEL_DGRAM: return model::DcbSelector::kUdp;
    case IEEE_8021QAZ_APP_SEL_ANY: return model::DcbSelector::kAnyPort;
    case IEEE_8021QAZ_APP_SEL_DSCP: return model::DcbSelector::kDscp;
    default: return model::DcbSelector::kUnknown;
  }
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
                    .carrier = nic.carrier,
                    .pause = to_control(nic.pause),
                    .pfc = nic.pfc,
                    .dcb = nic.dcb});
  }
  return list;
}

model::NicDcb to_control(const ethernet::NicDcb& dcb) {
  model::NicDcb told{.managed_by_host = (dcb.dcbx & DCB_CAP_DCBX_HOST) != 0};
  if ((dcb.dcbx & DCB_CAP_DCBX_VER_CEE) != 0) told.mode = model::DcbxMode::kCee;
  if ((dcb.dcbx & DCB_CAP_DCBX_VER_IEEE) != 0) told.mode = model::DcbxMode::kIeee;
  if (dcb.ets) told.ets = to_control(*dcb.ets);
  if (dcb.pfc) told.pfc = to_control(*dcb.pfc);
  for (const ethernet::DcbApp& app : dcb.apps) {
    if (told.apps.size() == model::kMaxDcbApps) break;
    told.apps.push_back({.selector = selector_of(app.selector),
                         .protocol = app.protocol,
                         .priority = app.priority});
  }
  return told;
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

Result<model::NicDcb> MachineProbe::read_dcb(const std::string& nic) {
  const auto dcb = ethernet::read_dcb(nic);
  if (!dcb) return std::unexpected(dcb.error());
  return to_control(*dcb);
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
